/** What an external agent asks permission for is decided as a call of our own agent is. Source: agent-core.md 11.7, F10. */
import { existsSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AcpStep } from '../../packages/server/testing/scripted-acp-agent.ts'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { until } from '../crash/watching.ts'
import { verifies } from '../verifies.ts'
import { begin, finishes, script } from './acting.ts'

let server: TestServer
beforeAll(async () => {
  server = await startTestServer()
})
afterAll(() => server[Symbol.asyncDispose]())

const wants = (id: string, file: string, then: AcpStep[] = []): AcpStep => ({
  permission: { toolCallId: id, title: `write ${file}`, kind: 'execute', rawInput: { command: `touch ${file}` } },
  allowed: [{ write: { file, text: 'x' } }, ...then],
})
const always = { confirmation_policy: { kind: 'AlwaysConfirm' } }
const actions = (events: any[]) =>
  events.filter(({ kind, action }) => kind === 'ActionEvent' && action?.kind !== 'FinishAction')
const decisions = (log: any[]) => log.map(({ call, outcome }) => [call, outcome.optionId ?? outcome.outcome])

// Each in a conversation of its own; most of their time is waiting.
describe.concurrent('a request for permission', () => {
  test('with NeverConfirm a request is allowed once, never for ever, and nobody is asked', async () => {
    const file = server.dir.file('made-1')
    const acp = script(server.dir, { turns: [[wants('a', file), { say: 'done' }]] })
    const said = await begin(server, acp)
    await said.is('finished', 'error')
    expect(decisions(acp.decided())).toEqual([['a', 'yes']])
    expect(existsSync(file)).toBe(true)
    expect(actions(await said.events())).toEqual([])
  })

  describe('with AlwaysConfirm', () => {
    test('the call waits as an action, the prompt stays open, and an approval lets it go on', async () => {
      const file = server.dir.file('made-2')
      const acp = script(server.dir, { turns: [[{ say: 'before ' }, wants('a', file), { say: 'after' }]] })
      // Nobody is hurried by the silence of an agent that waits for them.
      const said = await begin(server, acp, 'go', { ...always, agent: { acp_prompt_timeout: 2 } })
      await said.is('waiting_for_confirmation', 'error', 'finished')
      const [action] = actions(await said.events())
      expect(action).toMatchObject({
        tool_name: 'terminal',
        tool_call_id: 'a',
        action: { command: `touch ${file}` },
        summary: `write ${file}`,
      })
      await new Promise((resolve) => setTimeout(resolve, 2500))
      expect((await said.info()).execution_status).toBe('waiting_for_confirmation')
      expect(existsSync(file)).toBe(false)
      expect(acp.decided()).toEqual([])
      await said.post('events/respond_to_confirmation', { accept: true })
      await said.is('finished', 'error')
      expect(decisions(acp.decided())).toEqual([['a', 'yes']])
      expect(existsSync(file)).toBe(true)
      const events = await said.events()
      expect(finishes(events)).toEqual(['before after'])
      expect(
        events.filter(({ kind, action_id }: any) => kind === 'ObservationEvent' && action_id === action.id),
      ).toHaveLength(1)
      expect(acp.prompts()).toEqual([['go']])
    }, 60_000)

    test('a rejection is told when the run goes on, and the call is not made', async () => {
      const file = server.dir.file('made-3')
      const acp = script(server.dir, { turns: [[wants('a', file), { say: 'as you wish' }], [{ say: 'the other' }]] })
      const said = await begin(server, acp, 'go', always)
      await said.is('waiting_for_confirmation')
      await said.post('events/respond_to_confirmation', { accept: false, reason: 'not that' })
      await said.is('idle')
      await said.say('do the other thing')
      await until(async () => finishes(await said.events()).length === 2)
      expect(decisions(acp.decided())).toEqual([['a', 'no']])
      expect(existsSync(file)).toBe(false)
      expect(acp.prompts()).toEqual([['go'], ['do the other thing']])
      expect((await said.kinds('UserRejectObservation')).map(({ rejection_reason }) => rejection_reason)).toEqual([
        'not that',
      ])
    }, 60_000)

    test('each batch has an id of its own: an answer to the first does not count for the next', async () => {
      const acp = script(server.dir, { turns: [[wants('a', server.dir.file('a')), wants('b', server.dir.file('b'))]] })
      const said = await begin(server, acp, 'go', always)
      await said.is('waiting_for_confirmation')
      await said.post('events/respond_to_confirmation', { accept: true })
      await until(async () => actions(await said.events()).length === 2)
      await said.is('waiting_for_confirmation')
      const [first, second] = actions(await said.events())
      expect(first.llm_response_id).not.toBe(second.llm_response_id)
      expect(existsSync(server.dir.file('a'))).toBe(true)
      expect(existsSync(server.dir.file('b'))).toBe(false)
      await said.post('run')
      await said.is('finished')
      expect(existsSync(server.dir.file('b'))).toBe(true)
    }, 60_000)

    test('an agent that is gone when the answer comes performed nothing, and is asked again', async () => {
      const file = server.dir.file('made-4')
      const acp = script(server.dir, { turns: [[wants('a', file)], [{ say: 'nothing to do' }]] })
      const said = await begin(server, acp, 'go', always)
      await said.is('waiting_for_confirmation')
      process.kill(acp.starts()[0].pid, 'SIGKILL')
      await said.post('events/respond_to_confirmation', { accept: true })
      await said.is('finished', 'error')
      expect(existsSync(file)).toBe(false)
      const again = finishes(await said.events()).length > 0 ? said : (await said.post('run'), said)
      await again.is('finished')
      expect(finishes(await said.events())).toEqual(['nothing to do'])
    }, 60_000)
  })

  test('an edit is judged as an edit of its file', async () => {
    const content = [{ type: 'diff', path: '/w/a.txt', oldText: 'old', newText: 'new' }]
    const permission = { toolCallId: 'e', title: 'edit', kind: 'edit', content, rawInput: { anything: 1 } }
    const created = { ...permission, toolCallId: 'c', content: [{ type: 'diff', path: '/w/b.txt', new_text: 'all' }] }
    const other = { toolCallId: 'f', title: 'fetch it', kind: 'fetch', rawInput: { url: 'https://example.org' } }
    const acp = script(server.dir, { turns: [[{ permission }, { permission: created }, { permission: other }]] })
    const said = await begin(server, acp, 'go', always)
    for (const n of [1, 2, 3]) {
      await until(async () => actions(await said.events()).length === n)
      await said.is('waiting_for_confirmation')
      await said.post('events/respond_to_confirmation', { accept: true })
    }
    await said.is('finished')
    expect(actions(await said.events()).map(({ tool_name, action }) => [tool_name, action])).toMatchObject([
      ['file_editor', { command: 'str_replace', path: '/w/a.txt', old_str: 'old', new_str: 'new' }],
      ['file_editor', { command: 'create', path: '/w/b.txt', file_text: 'all' }],
      ['acp_fetch', { kind: 'MCPToolAction', data: { title: 'fetch it', raw_input: { url: 'https://example.org' } } }],
    ])
  }, 60_000)

  test('an analyzer finds the risk, and the policy asks about what is risky only', async () => {
    const risky: AcpStep = {
      permission: { toolCallId: 'r', title: 'clean', kind: 'execute', rawInput: { command: 'rm -rf /' } },
    }
    const acp = script(server.dir, { turns: [[risky, { say: 'done' }]] })
    const said = await begin(server, acp, 'go', {
      confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: false },
      security_analyzer: { kind: 'PatternSecurityAnalyzer' },
    })
    await said.is('waiting_for_confirmation', 'finished', 'error')
    expect(actions(await said.events())).toMatchObject([{ security_risk: 'HIGH', action: { command: 'rm -rf /' } }])
  })

  test('a hook that blocks commands blocks those of an external agent, and hears of those that it lets pass', async () => {
    const heard = server.dir.file('heard')
    const done: AcpStep = {
      update: {
        sessionUpdate: 'tool_call_update',
        toolCallId: 'b',
        title: 'good',
        status: 'completed',
        rawOutput: 'fine',
      },
    }
    const ask = (toolCallId: string, command: string, then: AcpStep[] = []): AcpStep => ({
      permission: { toolCallId, title: command, kind: 'execute', rawInput: { command } },
      allowed: then,
    })
    const acp = script(server.dir, {
      turns: [[ask('a', 'bad thing'), ask('b', 'good thing', [done]), { say: 'done' }]],
    })
    const said = await begin(server, acp, 'go', {
      hook_config: {
        pre_tool_use: [
          {
            matcher: 'terminal',
            hooks: [{ type: 'command', command: 'grep -q bad && echo "no bad things" >&2 && exit 2; exit 0' }],
          },
        ],
        post_tool_use: [{ matcher: 'terminal', hooks: [{ type: 'command', command: `cat >> ${heard}` }] }],
      },
    })
    await said.is('finished', 'error')
    expect(decisions(acp.decided())).toEqual([
      ['a', 'no'],
      ['b', 'yes'],
    ])
    const rejected = await said.kinds('UserRejectObservation')
    expect(rejected).toMatchObject([{ rejection_source: 'hook', tool_name: 'terminal' }])
    expect(rejected[0].rejection_reason).toContain('no bad things')
    expect(existsSync(heard)).toBe(true)
  })

  const going = (id: string, file: string): AcpStep[] => [
    {
      permission: { toolCallId: id, title: id, kind: 'execute', rawInput: { command: id } },
      allowed: [
        { update: { sessionUpdate: 'tool_call_update', toolCallId: id, status: 'in_progress' } },
        { write: { file: `${file}-${id}`, text: '' } },
        { until: `${file}-go` },
        { update: { sessionUpdate: 'tool_call_update', toolCallId: id, status: 'completed' } },
      ],
    },
  ]

  describe('tool_concurrency_limit', () => {
    verifies(
      'seed.agent.acp.tool_concurrency_limit.sequential',
      'of 1: the next call is allowed when the one before has ended',
      async () => {
        const file = server.dir.file('p-5')
        const acp = script(server.dir, { turns: [[{ parallel: [going('a', file), going('b', file)] }]] })
        const said = await begin(server, acp)
        await until(() => existsSync(`${file}-a`))
        // Longer than a call that has not begun would keep its place.
        await new Promise((resolve) => setTimeout(resolve, 3000))
        expect(existsSync(`${file}-b`)).toBe(false)

        writeFileSync(`${file}-go`, '')
        await said.is('finished', 'error')
        expect(existsSync(`${file}-b`)).toBe(true)
      },
      60_000,
    )

    verifies(
      'seed.agent.acp.tool_concurrency_limit.parallel',
      'of 2: two calls go on at once',
      async () => {
        const file = server.dir.file('p-6')
        const acp = script(server.dir, {
          turns: [[{ parallel: [going('a', file), going('b', file), going('c', file)] }]],
        })
        const said = await begin(server, acp, 'go', { agent: { tool_concurrency_limit: 2 } })
        await until(() => existsSync(`${file}-a`) && existsSync(`${file}-b`))
        expect(existsSync(`${file}-c`)).toBe(false)

        writeFileSync(`${file}-go`, '')
        await said.is('finished', 'error')
        expect(existsSync(`${file}-c`)).toBe(true)
      },
      60_000,
    )
  })
})
