import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { startTestServer, type TestServer } from '../../packages/server/testing/server.ts'
import { start, type conversation } from '../../packages/server/testing/conversations.ts'
import { until } from '../../packages/server/testing/until.ts'
import {
  childrenOf,
  finish,
  parent,
  run,
  startScripts,
  task,
  tasks,
  textOf,
} from '../../packages/server/testing/sub-agent-scripts.ts'

const ALWAYS = { kind: 'AlwaysConfirm' }

type It = ReturnType<typeof conversation>

const answer = (it: It, accept: boolean, reason = 'not here') =>
  it.post('events/respond_to_confirmation', { accept, reason })

/** The newest question, once one stands. */
async function asked(it: It, matching: (value: any) => boolean = () => true): Promise<any> {
  let found: any
  await until(async () => {
    const { execution_status } = await it.info()
    const updates = await it.kinds('ConversationStateUpdateEvent')
    found = updates.findLast(({ key }) => key === 'confirmation_request')?.value
    return execution_status === 'waiting_for_confirmation' && found !== undefined && matching(found)
  }, 30_000)
  return found
}

const ofSubAgent = ({ sub_agent }: any): boolean => sub_agent !== undefined

/** A parent under AlwaysConfirm, whose own call of `task` has been accepted, and what its sub-agent asks then. */
async function asking(server: TestServer, request: object) {
  const it = await start(server, request)
  const own = await asked(it)
  expect(own.sub_agent).toBe(undefined)
  expect((await answer(it, true)).status).toBe(200)
  return { it, question: await asked(it, ofSubAgent) }
}

describe('a sub-agent that needs a confirmation', () => {
  const scripts = {
    parent: [task('[child] touch it'), finish('done')],
    child: [run('touch proof'), finish('touched')],
  }

  test("a sub-agent's pending actions are asked about by its parent, and accepting them lets it continue", async () => {
    await using server = await startTestServer()
    await using model = await startScripts(scripts)
    const work = server.dir.file('work')
    const { it, question } = await asking(server, parent(model, work, { confirmation_policy: ALWAYS }))
    const [child] = await childrenOf(server, it.id)
    expect(question.sub_agent).toMatchObject({ conversation_id: child!.id, subagent: 'general-purpose' })
    expect(question.sub_agent.actions).toMatchObject([
      { tool_name: 'terminal', risk: 'UNKNOWN', action: { kind: 'TerminalAction', command: 'touch proof' } },
    ])
    const [call] = await it.kinds('ActionEvent')
    expect(question.actions).toEqual([{ action_id: call.id, risk: 'UNKNOWN' }])
    expect(child!.now.execution_status).toBe('waiting_for_confirmation')
    expect(existsSync(join(work, 'proof'))).toBe(false)

    expect((await it.say('hurry up')).status, 'a message approves nothing').toBe(200)
    expect((await it.info()).execution_status).toBe('waiting_for_confirmation')
    expect((await answer(it, true)).status).toBe(200)
    await it.is('finished', 'error')
    expect(existsSync(join(work, 'proof'))).toBe(true)
    const approvals = (await child!.kinds('ConversationStateUpdateEvent')).filter(({ key }) => key === 'approval')
    expect(approvals.map(({ value }) => value)).toMatchObject([
      { decision: 'accept', action_ids: [question.sub_agent.actions[0].action_id] },
    ])
  }, 60_000)

  test('a sub-agent receives a rejection with its reason and continues without the action', async () => {
    await using server = await startTestServer()
    await using model = await startScripts({ ...scripts, child: [run('touch proof'), finish('not allowed')] })
    const work = server.dir.file('work')
    const { it } = await asking(server, parent(model, work, { confirmation_policy: ALWAYS }))
    expect((await answer(it, false, 'leave that alone')).status).toBe(200)
    await it.is('finished', 'error', 'idle')
    expect(existsSync(join(work, 'proof'))).toBe(false)
    const [observed] = await it.kinds('ObservationEvent')
    expect(textOf(observed)).toContain('not allowed')
    const [child] = await childrenOf(server, it.id)
    expect((await child!.kinds('UserRejectObservation'))[0].rejection_reason).toBe('leave that alone')
    expect(await it.kinds('UserRejectObservation'), 'the call of the parent itself was not rejected').toEqual([])
  }, 60_000)

  test("an answer in the sub-agent's own conversation withdraws the question of the parent", async () => {
    await using server = await startTestServer()
    await using model = await startScripts(scripts)
    const { it } = await asking(server, parent(model, server.dir.file('work'), { confirmation_policy: ALWAYS }))
    const [child] = await childrenOf(server, it.id)
    expect((await answer(child!, true)).status).toBe(200)
    await it.is('finished', 'error')
    expect((await it.info()).execution_status).toBe('finished')
  }, 60_000)

  test('a sub-agent with a pending question may leave memory', async () => {
    await using server = await startTestServer({ PARLEY_IDLE_UNLOAD_SECONDS: '1' })
    await using model = await startScripts(scripts)
    const work = server.dir.file('work')
    const { it } = await asking(server, parent(model, work, { confirmation_policy: ALWAYS }))
    const [child] = await childrenOf(server, it.id)
    // Unloading is not visible from outside; several times the idle time is enough for it.
    await new Promise((resolve) => setTimeout(resolve, 3000))
    expect(child!.now.execution_status).toBe('waiting_for_confirmation')
    expect((await answer(it, true)).status).toBe(200)
    await it.is('finished', 'error')
    expect(existsSync(join(work, 'proof'))).toBe(true)
  }, 60_000)

  test("a sub-agent's question waits while another one is pending", async () => {
    await using server = await startTestServer()
    await using model = await startScripts({
      parent: [tasks(['[one] x'], ['[two] x']), finish('done')],
      one: [run('touch one'), finish('one')],
      two: [run('touch two'), finish('two')],
    })
    const work = server.dir.file('work')
    const { it, question } = await asking(server, parent(model, work, { confirmation_policy: ALWAYS }))
    const first = question.sub_agent.conversation_id
    expect((await answer(it, true)).status).toBe(200)
    const second = await asked(it, ({ sub_agent }) => sub_agent.conversation_id !== first)
    expect((await answer(it, false)).status).toBe(200)
    await it.is('finished', 'error')
    const done = second.sub_agent.actions[0].action.command === 'touch two' ? ['one', 'two'] : ['two', 'one']
    expect(existsSync(join(work, done[0]!))).toBe(true)
    expect(existsSync(join(work, done[1]!))).toBe(false)
  }, 60_000)
})

describe('the guard of a sub-agent', () => {
  test("a sub-agent's policy is never looser than its parent's, whatever its definition contains", async () => {
    await using server = await startTestServer()
    await using model = await startScripts({
      parent: [task('[child] x', { subagent_type: 'loose' }), finish('done')],
      child: [run('touch proof'), finish('touched')],
    })
    const loose = { name: 'loose', tools: ['terminal'], permission_mode: 'never_confirm' }
    const work = server.dir.file('work')
    const { it } = await asking(
      server,
      parent(model, work, { confirmation_policy: ALWAYS, agent_definitions: [loose] }),
    )
    const [child] = await childrenOf(server, it.id)
    expect(child!.now.confirmation_policy).toEqual(ALWAYS)
    expect(existsSync(join(work, 'proof'))).toBe(false)
    await it.post('interrupt')
  }, 60_000)

  test("a sub-agent's policy can be stricter than its parent's", async () => {
    await using server = await startTestServer()
    await using model = await startScripts({
      parent: [task('[child] x', { subagent_type: 'careful' }), finish('done')],
      child: [run('touch proof'), finish('touched')],
    })
    const careful = { name: 'careful', tools: ['terminal'], permission_mode: 'always_confirm' }
    const work = server.dir.file('work')
    const it = await start(server, parent(model, work, { agent_definitions: [careful] }))
    await asked(it, ofSubAgent)
    expect(existsSync(join(work, 'proof'))).toBe(false)
    await answer(it, true)
    await it.is('finished', 'error')
    expect(existsSync(join(work, 'proof'))).toBe(true)
  }, 60_000)

  test("a sub-agent's policy follows its parent's when that becomes stricter", async () => {
    await using server = await startTestServer()
    const gate = Promise.withResolvers<void>()
    await using model = await startScripts({
      parent: [task('[child] x'), finish('done')],
      child: [
        async () => {
          await gate.promise
          return run('touch proof')
        },
        finish('touched'),
      ],
    })
    const work = server.dir.file('work')
    const it = await start(server, parent(model, work))
    await until(() => model.requests.length === 2)
    await it.post('confirmation_policy', { policy: ALWAYS })
    await until(async () => (await childrenOf(server, it.id))[0]!.now.confirmation_policy.kind === 'AlwaysConfirm')
    gate.resolve()
    await asked(it, ofSubAgent)
    expect(existsSync(join(work, 'proof'))).toBe(false)
    await answer(it, true)
    await it.is('finished', 'error')
  }, 60_000)

  test("a sub-agent has its parent's analyzer, hooks and secrets", async () => {
    await using server = await startTestServer()
    await using model = await startScripts({
      parent: [task('[child] x'), finish('done')],
      child: [run('touch blocked'), run('echo $DEPLOY_TOKEN | wc -c'), run('rm -rf /'), finish('touched')],
    })
    const work = server.dir.file('work')
    const blocking = { command: 'grep -q "touch blocked" && { echo "not that" >&2; exit 2; } || exit 0' }
    const it = await start(
      server,
      parent(model, work, {
        security_analyzer: { kind: 'PatternSecurityAnalyzer' },
        confirmation_policy: { kind: 'ConfirmRisky', confirm_unknown: false },
        hook_config: { pre_tool_use: [{ matcher: 'terminal', hooks: [blocking] }] },
        secrets: { DEPLOY_TOKEN: 'a-secret-of-20-chars' },
      }),
    )
    const question = await asked(it, ofSubAgent)
    expect(question.sub_agent.actions).toMatchObject([{ risk: 'HIGH', action: { command: 'rm -rf /' } }])
    expect(existsSync(join(work, 'blocked'))).toBe(false)
    const [child] = await childrenOf(server, it.id)
    const [counted] = await child!.kinds('ObservationEvent')
    expect(textOf(counted)).toContain('21')
    await answer(it, false)
    await it.is('finished', 'error')
    expect(JSON.stringify(await child!.events())).not.toContain('a-secret-of-20-chars')
  }, 60_000)
})
