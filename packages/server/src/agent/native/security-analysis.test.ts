import { expect, test } from 'vitest'
import type { Draft } from '@parley/protocol'
import type { AnalysisContext, AnalyzedCall } from '../../security/index.ts'
import type { ToolHooks } from '../gateway/tool-gateway.ts'
import { openTestAgent } from './native-agent.testing.ts'

const create = (path: string) => ({
  name: 'file_editor',
  arguments: { command: 'create', path, file_text: 'x', summary: 'makes it' },
})
const state = {
  confirmation_policy: { kind: 'ConfirmRisky' as const, threshold: 'HIGH' as const, confirm_unknown: true },
  security_analyzer: { kind: 'LLMSecurityAnalyzer' as const },
}
/** Blocks calls that name this file. */
const blocking = (file: string): ToolHooks => ({
  before: (call) =>
    Promise.resolve({ blocked: JSON.stringify(call.action).includes(file) ? 'not this one' : null, drafts: [] }),
  after: () => Promise.resolve({ drafts: [] as Draft[] }),
})

test('a call that a hook blocked is neither analyzed nor part of a confirmation (F44)', async () => {
  const asked: string[] = []
  const analyze = (_record: unknown, { tool_call }: AnalyzedCall) => {
    asked.push(tool_call.arguments)
    return Promise.resolve({ risk: 'LOW' as const, costs: [], reasons: [] })
  }
  const toolCalls = [create('/blocked.txt'), create('/fine.txt')]
  await using at = await openTestAgent([{ toolCalls }], { state, deps: { analyze, hooks: blocking('/blocked.txt') } })
  await at.think()
  expect(asked).toEqual([expect.stringContaining('/fine.txt')])
  // The blocked call has the risk UNKNOWN, which the policy would confirm.
  expect(at.driver.of('ActionEvent').map((event) => event.security_risk)).toEqual(['UNKNOWN', 'LOW'])
  expect(at.driver.state.awaiting_approval).toBeNull()
})

test('the confirmation of a batch leaves out a blocked call', async () => {
  const analyze = () => Promise.resolve({ risk: 'HIGH' as const, costs: [], reasons: [] })
  const toolCalls = [create('/blocked.txt'), create('/fine.txt')]
  await using at = await openTestAgent([{ toolCalls }], { state, deps: { analyze, hooks: blocking('/blocked.txt') } })
  await at.think()
  const [, fine] = at.driver.of('ActionEvent')
  expect(at.driver.state.awaiting_approval?.actions).toEqual([{ action_id: fine!.id, risk: 'HIGH' }])
})

test('an analyzer sees the call as it will be stored, the branch before it, and the calls beside it', async () => {
  const seen: [AnalyzedCall, AnalysisContext][] = []
  const analyze = (_record: unknown, call: AnalyzedCall, context: AnalysisContext) => {
    seen.push([call, context])
    return Promise.resolve({ risk: 'LOW' as const, costs: [], reasons: [] })
  }
  const toolCalls = [create('/a'), create('/b'), { name: 'finish', arguments: { message: 'done' } }, create('/never')]
  await using at = await openTestAgent([{ text: 'I make two', toolCalls }], { state, deps: { analyze } })
  await at.think()
  const [first, second, finish, ...more] = seen
  expect(more, 'what stands behind finish is discarded').toEqual([])
  expect(first![0]).toMatchObject({ thought: 'I make two', summary: 'makes it', is_read_only: false, own_fields: [] })
  expect(second![0]).toMatchObject({ thought: '', reasoning: null })
  expect(finish![0]).toMatchObject({ tool_name: 'finish', is_read_only: true })
  expect(first![1].earlier).toEqual([])
  expect(second![1].earlier).toEqual([first![0]])
  expect(first![1].history.map(({ kind }) => kind)).toEqual(['SystemPromptEvent', 'MessageEvent'])
  expect(first![1].working_dir).toBe(at.workspace.workingDir)
  const [recorded] = at.driver.of('ActionEvent')
  expect(first![0].action_id).toBe(recorded!.id)
  expect(first![0].tool_call).toEqual(recorded!.tool_call)
})

test('the calls of one answer are analyzed at the same time', async () => {
  let running = 0
  let most = 0
  const all = Promise.withResolvers<void>()
  const analyze = async () => {
    running++
    most = Math.max(most, running)
    if (running === 4) all.resolve()
    await all.promise
    return { risk: 'LOW' as const, costs: [], reasons: [] }
  }
  await using at = await openTestAgent([{ toolCalls: ['/a', '/b', '/c', '/d'].map(create) }], {
    state,
    deps: { analyze },
  })
  await at.think()
  expect(most).toBe(4)
})

test.each(['at once', 'later'])(
  'an analyzer that throws %s makes the risk HIGH, and the other calls are analyzed as usual',
  async (when) => {
    const analyze = (_record: unknown, { tool_call }: AnalyzedCall) => {
      if (!tool_call.arguments.includes('/bad'))
        return Promise.resolve({ risk: 'LOW' as const, costs: [], reasons: [] })
      if (when === 'at once') throw new TypeError('a bug')
      return Promise.reject(new TypeError('a bug'))
    }
    await using at = await openTestAgent([{ toolCalls: [create('/bad'), create('/fine')] }], {
      state,
      deps: { analyze },
    })
    await at.think()
    const [bad, fine] = at.driver.of('ActionEvent')
    expect([bad!.security_risk, fine!.security_risk]).toEqual(['HIGH', 'LOW'])
    expect(at.driver.state.awaiting_approval?.actions).toHaveLength(2)
  },
)
