import { asEventId, type ActionEvent, type ConversationState, type Draft, type OpenAction } from '@parley/protocol'
import { expect, test } from 'vitest'
import { MASK } from '../../secrets/index.ts'
import { callEvent } from '../view/events.testing.ts'
import { FirstExecution } from './first-execution.ts'
import { never, StepDriver } from './step-driver.testing.ts'

const ALWAYS = { kind: 'AlwaysConfirm' } as const
const NEVER = { kind: 'NeverConfirm' } as const
const RISKY = { kind: 'ConfirmRisky', threshold: 'HIGH', confirm_unknown: false } as const
const write = (id: string, members: Partial<ActionEvent> = {}): ActionEvent => ({
  ...callEvent(id, 'r1'),
  action: { kind: 'TerminalAction', command: `touch ${id}`, is_input: false, timeout: null, reset: false },
  tool_name: 'terminal',
  security_risk: 'LOW',
  ...members,
})

/** Runs the calls one after the other; returns the ids that were executed, the drafts of the others, and the question. */
async function first(
  calls: readonly ActionEvent[],
  change: Partial<ConversationState>,
  around: { consent?: OpenAction['consent']; isOriginal?: boolean; origin?: string; originNow?: string } = {},
) {
  const driver = new StepDriver(change)
  driver.commit(calls)
  const { consent, origin } = around
  const open_actions = driver.state.open_actions.map((open): OpenAction => ({
    ...open,
    ...(consent === undefined ? {} : { consent }),
    ...(origin === undefined ? {} : { origin }),
  }))
  driver.state = { ...driver.state, open_actions }
  const executed: string[] = []
  const execution = new FirstExecution(
    {
      originOf: () => around.originNow,
      execute: async ({ id }, _state, _signal, mayBegin) => {
        if (!mayBegin()) return { kind: 'held' }
        executed.push(id)
        return {
          kind: 'observation',
          observation: { kind: 'ThinkObservation', content: [], is_error: false },
          drafts: [],
        }
      },
    },
    { state: () => driver.state, isOriginal: () => around.isOriginal ?? true },
  )
  const refused: Draft[] = []
  for (const call of calls)
    for (const draft of await execution.run(call, never)) if (draft.kind !== 'ObservationEvent') refused.push(draft)
  const [question] = execution.question()
  const asked =
    question?.kind === 'ConfirmationRequestedEvent' ? question.actions.map(({ action_id }) => action_id) : []
  return { executed, asked: asked as string[], refused, execution, driver, question }
}

test.each<[string, ConversationState['confirmation_policy'], OpenAction['consent'], Partial<ActionEvent>, boolean]>([
  ['NeverConfirm', NEVER, undefined, {}, true],
  ['AlwaysConfirm', ALWAYS, undefined, {}, false],
  ['ConfirmRisky and a low risk', RISKY, undefined, {}, true],
  ['ConfirmRisky and a high risk', RISKY, undefined, { security_risk: 'HIGH' }, false],
  ['AlwaysConfirm after the approval', ALWAYS, 'given', {}, true],
  ['AlwaysConfirm after a message', ALWAYS, 'needed', {}, false],
  ['ConfirmRisky, a low risk and a message', RISKY, 'needed', {}, false],
  ['NeverConfirm after a message', NEVER, 'needed', {}, true],
  ['AlwaysConfirm, for a thought', ALWAYS, undefined, { action: { kind: 'ThinkAction', thought: '' } }, true],
])(
  'under %s a call begins, or a person is asked about it',
  async (_name, confirmation_policy, consent, call, begins) => {
    const { executed, asked } = await first(
      [write('a1', call)],
      { confirmation_policy },
      consent === undefined ? {} : { consent },
    )
    expect([executed, asked]).toEqual(begins ? [['a1'], []] : [[], ['a1']])
  },
)

test('no call overtakes one that a person is asked about, and the question names all of them', async () => {
  const calls = [write('a1'), write('a2', { security_risk: 'HIGH' }), write('a3')]
  const { executed, asked, question } = await first(calls, { confirmation_policy: RISKY })
  expect([executed, asked]).toEqual([['a1'], ['a2', 'a3']])
  expect(question).toMatchObject({ llm_response_id: 'r1', actions: [{ risk: 'HIGH' }, { risk: 'LOW' }] })
})

test('nothing is asked about a call that was closed, or that the policy allows again', async () => {
  const { execution, driver } = await first([write('a1')], { confirmation_policy: ALWAYS })
  const { state } = driver
  driver.state = { ...state, confirmation_policy: NEVER }
  expect(execution.question()).toEqual([])
  driver.state = { ...state, open_actions: [] }
  expect(execution.question()).toEqual([])
})

test.each([
  [true, ['a1']],
  [false, []],
])('a call with the mask in its text and its own form known: %s, is executed: %s', async (isOriginal, executed) => {
  const command = `rm -rf a/${MASK}/b`
  const action = { kind: 'TerminalAction' as const, command, is_input: false, timeout: null, reset: false }
  const found = await first([write('a1', { action })], {}, { isOriginal })
  expect(found.executed).toEqual(executed)
  expect(found.refused.map(({ kind }) => kind)).toEqual(isOriginal ? [] : ['AgentErrorEvent'])
  expect(found.asked).toEqual([])
})

test('a call without the mask is executed from its stored form', async () => {
  expect((await first([write('a1')], {}, { isOriginal: false })).executed).toEqual(['a1'])
})

test.each([
  ['server#1', 'server#1', true],
  ['server#1', 'server#2', false],
  ['server#1', undefined, false],
  [undefined, 'server#1', false],
])(
  'a call that was approved for the tool of %s is executed by that of %s: %s',
  async (origin, originNow, isExecuted) => {
    const around = { ...(origin === undefined ? {} : { origin }), ...(originNow === undefined ? {} : { originNow }) }
    const { executed, refused } = await first(
      [write('a1')],
      { confirmation_policy: ALWAYS },
      { ...around, consent: 'given' },
    )
    expect([executed, refused.length]).toEqual(isExecuted ? [['a1'], 0] : [[], 1])
  },
)

test('the question binds the call to the origin of its tool', async () => {
  const { question } = await first([write('a1')], { confirmation_policy: ALWAYS }, { originNow: 'server#1' })
  expect(question).toMatchObject({ actions: [{ action_id: asEventId('a1'), origin: 'server#1' }] })
})
