/** Permission requests of an external agent are decided like calls of the native agent. Source: agent-core.md 11.7, F10. */
import { existsSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AcpStep } from '../../packages/server/testing/scripted-acp-agent.ts'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { until } from '../../packages/server/testing/until.ts'
import { verifies } from '../verifies.ts'
import { startAcpConversation, finishes, writeScript } from '../../packages/server/testing/acp-conversations.ts'

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

// Each test has its own conversation and mostly waits.
describe.concurrent('permission requests', () => {
  test('with NeverConfirm a permission request is allowed once, without approval and not permanently', async () => {
    const file = server.dir.file('made-1')
    const acp = writeScript(server.dir, { turns: [[wants('a', file), { say: 'done' }]] })
    const conversation = await startAcpConversation(server, acp)
    await conversation.is('finished', 'error')
    expect(decisions(acp.decided())).toEqual([['a', 'yes']])
    expect(existsSync(file)).toBe(true)
    expect(actions(await conversation.events())).toEqual([])
  })

  describe('with AlwaysConfirm', () => {
    test('with AlwaysConfirm the call waits as an action while the prompt stays open, and an approval allows it', async () => {
      const file = server.dir.file('made-2')
      const acp = writeScript(server.dir, { turns: [[{ say: 'before ' }, wants('a', file), { say: 'after' }]] })
      // The idle timer does not run while the agent waits for a person.
      const conversation = await startAcpConversation(server, acp, 'go', {
        ...always,
        agent: { acp_prompt_timeout: 2 },
      })
      await conversation.is('waiting_for_confirmation', 'error', 'finished')
      const [action] = actions(await conversation.events())
      expect(action).toMatchObject({
        tool_name: 'terminal',
        tool_call_id: 'a',
        action: { command: `touch ${file}` },
        summary: `write ${file}`,
      })
      await new Promise((resolve) => setTimeout(resolve, 2500))
      expect((await conversation.info()).execution_status).toBe('waiting_for_confirmation')
      expect(existsSync(file)).toBe(false)
      expect(acp.decided()).toEqual([])
      await conversation.post('events/respond_to_confirmation', { accept: true })
      await conversation.is('finished', 'error')
      expect(decisions(acp.decided())).toEqual([['a', 'yes']])
      expect(existsSync(file)).toBe(true)
      const events = await conversation.events()
      expect(finishes(events)).toEqual(['before after'])
      expect(
        events.filter(({ kind, action_id }: any) => kind === 'ObservationEvent' && action_id === action.id),
      ).toHaveLength(1)
      expect(acp.prompts()).toEqual([['go']])
    }, 60_000)

    test('with AlwaysConfirm a rejection reaches the agent when the run continues, and the call is not made', async () => {
      const file = server.dir.file('made-3')
      const acp = writeScript(server.dir, {
        turns: [[wants('a', file), { say: 'as you wish' }], [{ say: 'the other' }]],
      })
      const conversation = await startAcpConversation(server, acp, 'go', always)
      await conversation.is('waiting_for_confirmation')
      await conversation.post('events/respond_to_confirmation', { accept: false, reason: 'not that' })
      await conversation.is('idle')
      await conversation.say('do the other thing')
      await until(async () => finishes(await conversation.events()).length === 2)
      expect(decisions(acp.decided())).toEqual([['a', 'no']])
      expect(existsSync(file)).toBe(false)
      expect(acp.prompts()).toEqual([['go'], ['do the other thing']])
      expect(
        (await conversation.kinds('UserRejectObservation')).map(({ rejection_reason }) => rejection_reason),
      ).toEqual(['not that'])
    }, 60_000)

    test('with AlwaysConfirm each batch has its own id, so that an answer to one does not count for the next', async () => {
      const acp = writeScript(server.dir, {
        turns: [[wants('a', server.dir.file('a')), wants('b', server.dir.file('b'))]],
      })
      const conversation = await startAcpConversation(server, acp, 'go', always)
      await conversation.is('waiting_for_confirmation')
      await conversation.post('events/respond_to_confirmation', { accept: true })
      await until(async () => actions(await conversation.events()).length === 2)
      await conversation.is('waiting_for_confirmation')
      const [first, second] = actions(await conversation.events())
      expect(first.llm_response_id).not.toBe(second.llm_response_id)
      expect(existsSync(server.dir.file('a'))).toBe(true)
      expect(existsSync(server.dir.file('b'))).toBe(false)
      await conversation.post('run')
      await conversation.is('finished')
      expect(existsSync(server.dir.file('b'))).toBe(true)
    }, 60_000)

    test('with AlwaysConfirm an agent that ended before the approval performs nothing and gets its message again', async () => {
      const file = server.dir.file('made-4')
      const acp = writeScript(server.dir, { turns: [[wants('a', file)], [{ say: 'nothing to do' }]] })
      const conversation = await startAcpConversation(server, acp, 'go', always)
      await conversation.is('waiting_for_confirmation')
      process.kill(acp.starts()[0].pid, 'SIGKILL')
      await conversation.post('events/respond_to_confirmation', { accept: true })
      await conversation.is('finished', 'error')
      expect(existsSync(file)).toBe(false)
      const again =
        finishes(await conversation.events()).length > 0 ? conversation : (await conversation.post('run'), conversation)
      await again.is('finished')
      expect(finishes(await conversation.events())).toEqual(['nothing to do'])
    }, 60_000)
  })

  test('the policy sees an edit of an ACP agent as a file_editor action', async () => {
    const content = [{ type: 'diff', path: '/w/a.txt', oldText: 'old', newText: 'new' }]
    const permission = { toolCallId: 'e', title: 'edit', kind: 'edit', content, rawInput: { anything: 1 } }
    const created = { ...permission, toolCallId: 'c', content: [{ type: 'diff', path: '/w/b.txt', new_text: 'all' }] }
    const other = { toolCallId: 'f', title: 'fetch it', kind: 'fetch', rawInput: { url: 'https://example.org' } }
    const acp = writeScript(server.dir, { turns: [[{ permission }, { permission: created }, { permission: other }]] })
    const conversation = await startAcpConversation(server, acp, 'go', always)
    for (const n of [1, 2, 3]) {
      await until(async () => actions(await conversation.events()).length === n)
      await conversation.is('waiting_for_confirmation')
      await conversation.post('events/respond_to_confirmation', { accept: true })
    }
    await conversation.is('finished')
    expect(actions(await conversation.events()).map(({ tool_name, action }) => [tool_name, action])).toMatchObject([
      ['file_editor', { command: 'str_replace', path: '/w/a.txt', old_str: 'old', new_str: 'new' }],
      ['file_editor', { command: 'create', path: '/w/b.txt', file_text: 'all' }],
      ['acp_fetch', { kind: 'MCPToolAction', data: { title: 'fetch it', raw_input: { url: 'https://example.org' } } }],
    ])
  }, 60_000)

  const diff = (path: string) => ({ type: 'diff', path, oldText: null, newText: 'text' })
  const risky = {
    confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: false },
    security_analyzer: { kind: 'PatternSecurityAnalyzer' },
  }

  test('a request with several diffs is one action for each, and allowed only when all are approved', async () => {
    const content = [diff('/w/a.txt'), diff('/home/ann/.ssh/authorized_keys'), diff('/w/c.txt')]
    const asked: AcpStep = { permission: { toolCallId: 'e', title: 'edit', kind: 'edit', content } }
    const acp = writeScript(server.dir, { turns: [[asked, { say: 'done' }]] })
    const conversation = await startAcpConversation(server, acp, 'go', risky)
    await conversation.is('waiting_for_confirmation', 'finished', 'error')
    const shown = actions(await conversation.events())
    expect(shown.map(({ action, security_risk }) => [action.path, security_risk])).toEqual([
      ['/w/a.txt', 'LOW'],
      ['/home/ann/.ssh/authorized_keys', 'HIGH'],
      ['/w/c.txt', 'LOW'],
    ])
    const updates = await conversation.kinds('ConversationStateUpdateEvent')
    const asking = updates.find(({ key }) => key === 'confirmation_request')
    expect(asking.value.actions.map(({ action_id }: any) => action_id)).toEqual(shown.map(({ id }) => id))
    await conversation.post('events/respond_to_confirmation', { accept: true })
    await conversation.is('finished', 'error')
    expect(decisions(acp.decided())).toEqual([['e', 'yes']])
    expect((await conversation.kinds('ObservationEvent')).map(({ action_id }) => action_id)).toEqual(
      expect.arrayContaining(shown.map(({ id }) => id)),
    )
  })

  test('a request with a diff and a command has a high risk, and a rejection refuses all of it', async () => {
    const content = [diff('/w/a.txt')]
    const permission = { toolCallId: 'e', title: 'edit', kind: 'edit', content, rawInput: { command: 'ls' } }
    const acp = writeScript(server.dir, { turns: [[{ permission }, { say: 'done' }], [{ say: 'other' }]] })
    const conversation = await startAcpConversation(server, acp, 'go', risky)
    await conversation.is('waiting_for_confirmation', 'finished', 'error')
    expect(actions(await conversation.events())).toMatchObject([
      { security_risk: 'HIGH', action: { path: '/w/a.txt' } },
      { security_risk: 'HIGH', action: { command: 'ls' } },
    ])
    await conversation.post('events/respond_to_confirmation', { accept: false, reason: 'no' })
    await conversation.is('idle')
    await conversation.say('another')
    await until(async () => finishes(await conversation.events()).length > 1)
    expect(decisions(acp.decided())).toEqual([['e', 'no']])
    expect(await conversation.kinds('UserRejectObservation')).toHaveLength(2)
  }, 60_000)

  test('a hook that blocks one part of a request refuses all of it', async () => {
    const content = [diff('/w/a.txt'), diff('/w/secret.txt')]
    const permission = { toolCallId: 'e', title: 'edit', kind: 'edit', content }
    const acp = writeScript(server.dir, { turns: [[{ permission }, { say: 'done' }]] })
    const conversation = await startAcpConversation(server, acp, 'go', {
      hook_config: {
        pre_tool_use: [
          {
            matcher: 'file_editor',
            hooks: [{ type: 'command', command: 'grep -q secret && echo "not that file" >&2 && exit 2; exit 0' }],
          },
        ],
      },
    })
    await conversation.is('finished', 'error')
    expect(decisions(acp.decided())).toEqual([['e', 'no']])
    const reasons = (await conversation.kinds('UserRejectObservation')).map(({ rejection_reason }) => rejection_reason)
    expect(reasons).toEqual([expect.stringContaining('Another part'), expect.stringContaining('not that file')])
  })

  test('the analyzer assesses permission requests, and the policy asks only about risky ones', async () => {
    const risky: AcpStep = {
      permission: { toolCallId: 'r', title: 'clean', kind: 'execute', rawInput: { command: 'rm -rf /' } },
    }
    const acp = writeScript(server.dir, { turns: [[risky, { say: 'done' }]] })
    const conversation = await startAcpConversation(server, acp, 'go', {
      confirmation_policy: { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: false },
      security_analyzer: { kind: 'PatternSecurityAnalyzer' },
    })
    await conversation.is('waiting_for_confirmation', 'finished', 'error')
    expect(actions(await conversation.events())).toMatchObject([
      { security_risk: 'HIGH', action: { command: 'rm -rf /' } },
    ])
  })

  test('a hook blocks commands of an ACP agent and sees the results of those that it allows', async () => {
    const results = server.dir.file('results')
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
    const acp = writeScript(server.dir, {
      turns: [[ask('a', 'bad thing'), ask('b', 'good thing', [done]), { say: 'done' }]],
    })
    const conversation = await startAcpConversation(server, acp, 'go', {
      hook_config: {
        pre_tool_use: [
          {
            matcher: 'terminal',
            hooks: [{ type: 'command', command: 'grep -q bad && echo "no bad things" >&2 && exit 2; exit 0' }],
          },
        ],
        post_tool_use: [{ matcher: 'terminal', hooks: [{ type: 'command', command: `cat >> ${results}` }] }],
      },
    })
    await conversation.is('finished', 'error')
    expect(decisions(acp.decided())).toEqual([
      ['a', 'no'],
      ['b', 'yes'],
    ])
    const rejected = await conversation.kinds('UserRejectObservation')
    expect(rejected).toMatchObject([{ rejection_source: 'hook', tool_name: 'terminal' }])
    expect(rejected[0].rejection_reason).toContain('no bad things')
    expect(existsSync(results)).toBe(true)
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
      'with tool_concurrency_limit 1 the next call is allowed after the previous one has ended',
      async () => {
        const file = server.dir.file('p-5')
        const acp = writeScript(server.dir, { turns: [[{ parallel: [going('a', file), going('b', file)] }]] })
        const conversation = await startAcpConversation(server, acp)
        await until(() => existsSync(`${file}-a`))
        // Longer than a call that has not started keeps its slot.
        await new Promise((resolve) => setTimeout(resolve, 3000))
        expect(existsSync(`${file}-b`)).toBe(false)

        writeFileSync(`${file}-go`, '')
        await conversation.is('finished', 'error')
        expect(existsSync(`${file}-b`)).toBe(true)
      },
      60_000,
    )

    verifies(
      'seed.agent.acp.tool_concurrency_limit.parallel',
      'with tool_concurrency_limit 2 two calls run at once',
      async () => {
        const file = server.dir.file('p-6')
        const acp = writeScript(server.dir, {
          turns: [[{ parallel: [going('a', file), going('b', file), going('c', file)] }]],
        })
        const conversation = await startAcpConversation(server, acp, 'go', { agent: { tool_concurrency_limit: 2 } })
        await until(() => existsSync(`${file}-a`) && existsSync(`${file}-b`))
        expect(existsSync(`${file}-c`)).toBe(false)

        writeFileSync(`${file}-go`, '')
        await conversation.is('finished', 'error')
        expect(existsSync(`${file}-c`)).toBe(true)
      },
      60_000,
    )
  })
})
