import { existsSync } from 'node:fs'
import { access, readFile, writeFile } from 'node:fs/promises'
import { ParleyClient } from '@parley/client'
import { asConversationId } from '@parley/protocol'
import { describe, expect, test } from 'vitest'
import { byForm } from '../../packages/server/testing/campaign.ts'
import { canary } from '../../packages/server/testing/canaries/values.ts'
import { startScriptedModel, type ScriptedAnswer } from '../../packages/server/testing/scripted-model.ts'
import { freePort } from '../../packages/server/testing/free-port.ts'
import { startServerProcess, TEST_KEY } from '../../packages/server/testing/server-process.ts'
import { tempDir } from '../../packages/server/testing/temp.ts'
import { processesOf } from '../../packages/server/testing/processes.ts'
import { until } from '../../packages/server/testing/until.ts'

const run = (command: string): ScriptedAnswer => ({
  text: '',
  toolCalls: [{ name: 'terminal', arguments: { command } }],
})
const finish: ScriptedAnswer = { toolCalls: [{ name: 'finish', arguments: { message: 'all done' } }] }

/** The campaign kills at every commit, the short form at every fifth one. */
const EVERY = byForm({ test: 5, campaign: 1 })
/** The first commit; the short form kills before and after different ones. */
const FROM = { before: 1, after: byForm({ test: 3, campaign: 1 }) }

const agent = (url: string) => ({
  kind: 'Agent',
  llm: { model: 'openai/scripted', base_url: `${url}/v1`, api_key: canary('llm_key'), num_retries: 0 },
  tools: [{ name: 'terminal' }, { name: 'file_editor' }],
})

/** Follows a conversation by seq until it has finished, over as many servers as it takes. */
async function follow(
  baseUrl: string,
  id: string,
  seen: { seq: number; event: any }[],
  signal: AbortSignal,
): Promise<void> {
  const conversation = new ParleyClient({ baseUrl, apiKey: TEST_KEY }).conversation(asConversationId(id))
  for await (const { seq, event } of conversation.events({ after: 0, signal })) {
    seen.push({ seq, event })
    if (event.kind !== 'ConversationStateUpdateEvent' || event.key !== 'execution_status') continue
    if (event.value === 'finished' || event.value === 'error') return
  }
}

describe('kill -9', () => {
  test('kill -9 during a command: the restarted server continues the turn with the same command, its output and its exit code', async () => {
    await using dir = await tempDir()
    await using model = await startScriptedModel({
      by: 'turn',
      answers: [run('echo $$; touch begun; until [ -e go ]; do sleep 0.05; done; echo done; (exit 3)'), finish],
    })
    const port = await freePort()
    const dataDir = dir.file('data')
    const first = await startServerProcess({ dataDir, port })
    const { body: info } = await first.call('POST', '/api/conversations', {
      workspace: { working_dir: dir.file('work') },
      agent: agent(model.url),
      initial_message: { content: [{ type: 'text', text: 'go' }] },
    })
    const seen: { seq: number; event: any }[] = []
    const end = new AbortController()
    const following = follow(first.url, info.id, seen, end.signal)
    await until(() => seen.some(({ event }) => event.kind === 'ActionEvent'))
    await until(() => existsSync(dir.file('work', 'begun')))
    await first.kill()

    await using second = await startServerProcess({ dataDir, port })
    const ready = performance.now()
    await until(
      async () => (await second.call('GET', `/api/conversations/${info.id}`)).body.execution_status === 'running',
    )
    expect(performance.now() - ready).toBeLessThan(2000)
    await writeFile(dir.file('work', 'go'), '')
    await following

    const observations = seen.filter(({ event }) => event.kind === 'ObservationEvent')
    const terminal = observations.filter(({ event }) => event.tool_name === 'terminal')
    expect(terminal).toHaveLength(1)
    expect(terminal[0]!.event.observation).toMatchObject({ exit_code: 3, is_error: false })
    expect(terminal[0]!.event.observation.content[0].text).toMatch(/^\d+\ndone/)
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map((_, index) => index + 1))
    expect(new Set(seen.map(({ event }) => event.id)).size).toBe(seen.length)
    expect(model.violations).toEqual([])

    expect((await second.call('DELETE', `/api/conversations/${info.id}`)).status).toBe(200)
    await until(async () => (await processesOf(dataDir, dir.path)).filter(({ isRunner }) => !isRunner).length === 0)
  }, 60_000)

  /** Five steps, each with an effect that can be counted. */
  const steps = [1, 2, 3, 4].map((n) => run(`echo step-${n} >> trace; echo said-${n}`))
  const script = [...steps, finish]

  for (const when of ['before', 'after'] as const) {
    test(`kill -9 ${when} a commit of a five-step run loses nothing and executes nothing twice`, async () => {
      await using model = await startScriptedModel({ by: 'turn', answers: script })
      const tried: number[] = []
      for (let at = FROM[when]; ; at += EVERY) {
        await using dir = await tempDir()
        const dataDir = dir.file('data')
        const port = await freePort()
        const first = await startServerProcess({ dataDir, port, crash: { at, when } })
        const asked = await first
          .call('POST', '/api/conversations', {
            conversation_id: '00000000-0000-4000-8000-000000000001',
            workspace: { working_dir: dir.file('work') },
            agent: agent(model.url),
            initial_message: { content: [{ type: 'text', text: 'go' }] },
          })
          .catch(() => null)
        expect(asked === null || asked.status === 201).toBe(true)
        const id = '00000000-0000-4000-8000-000000000001'
        const seen: { seq: number; event: any }[] = []
        const end = new AbortController()
        const following = follow(`http://127.0.0.1:${port}`, id, seen, end.signal)
        const crashed = await Promise.race([first.exited.then(() => true), following.then(() => false)])
        await using second = crashed ? await startServerProcess({ dataDir, port }) : first
        await following
        await check(dir.file('work', 'trace'), seen, `${when} commit ${at}`)
        await second.call('DELETE', `/api/conversations/${id}`)
        if (!crashed) break
        tried.push(at)
      }
      expect(tried.length).toBeGreaterThanOrEqual(Math.floor(10 / EVERY))
      expect(model.violations).toEqual([])
    }, 300_000)
  }
})

async function check(trace: string, seen: { seq: number; event: any }[], where: string): Promise<void> {
  await access(trace)
  expect(await readFile(trace, 'utf8'), where).toBe('step-1\nstep-2\nstep-3\nstep-4\n')
  expect(
    seen.map(({ seq }) => seq),
    where,
  ).toEqual(seen.map((_, index) => index + 1))
  const actions = seen.filter(({ event }) => event.kind === 'ActionEvent').map(({ event }) => event.id)
  const answers = seen.filter(({ event }) => event.kind === 'ObservationEvent').map(({ event }) => event.action_id)
  expect(answers, where).toEqual(actions)
  expect(actions, where).toHaveLength(5)
}
