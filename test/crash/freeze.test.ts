/** A server process that is stopped for longer than a time limit loses no answer that arrived meanwhile. */
import type { ServerResponse } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { startMonitor } from '../../packages/server/testing/guarded-conversations.ts'
import { ofKind, startRunning } from '../../packages/server/testing/restartable-server.ts'
import type { ModelRequest, ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { until } from '../../packages/server/testing/until.ts'
import { startEffects } from '../guard/approvals/effects.ts'

/** Seconds of every limit: long enough to begin three calls on a busy machine. */
const LIMIT = 8
/** Milliseconds that a stop lasts longer than the limits. */
const LONGER_MS = 2_000

test('the result of an MCP call, a model answer and an analysis that arrived while the process was stopped count', async () => {
  await using effects = await startEffects(() => new Map())
  await using monitor = await startMonitor()
  const analyses: ServerResponse[] = []
  monitor.answer = (response) => void analyses.push(response)
  const held = { asked: Promise.withResolvers<void>(), open: Promise.withResolvers<void>() }
  const note = (name: string, tag: string): ScriptedAnswer => ({
    toolCalls: [{ name, arguments: { tag, note: 'x' } }],
  })
  await using server = await startRunning(
    async ({ view }: ModelRequest) => {
      if (view.assistantTurns > 0) return { text: 'done' }
      if (view.lastUserText === 'call') return note('hold', 'called')
      if (view.lastUserText === 'analyze') return note('note_down', 'analyzed')
      held.asked.resolve()
      await held.open.promise
      return { text: 'a late answer' }
    },
    {},
    'process',
  )
  const start = async (text: string, members: object = {}): Promise<string> => {
    const id = await server.start({
      agent: {
        kind: 'Agent',
        llm: {
          model: 'openai/scripted',
          base_url: `${server.model.url}/v1`,
          api_key: 'k',
          num_retries: 0,
          timeout: LIMIT,
        },
        tools: [],
        mcp_config: { outside: { url: effects.url, timeout: LIMIT } },
      },
      autotitle: false,
      ...members,
    })
    await server.say(id, text)
    return id
  }
  const security_analyzer = { kind: 'VendorAnalyzer', api_url: monitor.url, api_key: 'k', timeout: LIMIT }
  const ids = [
    await start('call'),
    await start('analyze', { security_analyzer, confirmation_policy: { kind: 'ConfirmRisky' } }),
    await start('answer'),
  ]
  await held.asked.promise
  await until(() => effects.isHeld('called') && analyses.length === 1, 60_000)
  process.kill(server.pid(), 'SIGSTOP')
  effects.release('called')
  for (const response of analyses) response.writeHead(200).end('{"violation":0}')
  held.open.resolve()
  // The limits pass while the process is stopped.
  await sleep(LIMIT * 1000 + LONGER_MS)
  process.kill(server.pid(), 'SIGCONT')
  const [called, analyzed, answered] = ids as [string, string, string]
  for (const id of ids) await server.until(id, 'finished', 'error', 'waiting_for_confirmation')
  const [result] = ofKind(await server.events(called), 'ObservationEvent')
  expect(result.observation).toMatchObject({ is_error: false })
  const events = await server.events(analyzed)
  expect(ofKind(events, 'ActionEvent')[0]).toMatchObject({ security_risk: 'LOW' })
  expect([effects.calls.get('called')?.length, effects.calls.get('analyzed')?.length]).toEqual([1, 1])
  expect(ofKind(await server.events(answered), 'MessageEvent').at(-1)).toMatchObject({ source: 'agent' })
  expect(server.model.requests.filter(({ view }) => view.lastUserText === 'answer')).toHaveLength(1)
}, 120_000)
