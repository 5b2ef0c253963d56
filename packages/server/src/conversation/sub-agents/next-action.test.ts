import { EMPTY_STATE, type ConversationState } from '@parley/protocol'
import { expect, test } from 'vitest'
import { nextAction, type NextAction, type ParentAndChild } from './next-action.ts'

type Some = Partial<ConversationState>

const question = (batch: string): string => `child/${batch}`
const asks = (batch_id: string): Some => ({
  execution_status: 'waiting_for_confirmation',
  awaiting_approval: { batch_id, llm_response_id: 'r1', actions: [] },
})
const isAsked = (batch: string): Some => ({
  execution_status: 'waiting_for_confirmation',
  awaiting_approval: {
    batch_id: 'own',
    llm_response_id: question(batch),
    actions: [],
    sub_agent: { conversation_id: 'child' as never, llm_response_id: batch, name: 't', subagent: 's', actions: [] },
  },
})
const asIts = (child: string) => ({ question: (batch: string) => `${child}/${batch}` })
const is = (execution_status: ConversationState['execution_status']): Some => ({ execution_status })
const always: Some = { confirmation_policy: { kind: 'AlwaysConfirm' } }
const failed: Some = { start: { phase: 'workspace', status: 'failed', code: 'X', detail: 'no place' } }

test.each<[name: string, parent: Some, child: Some, rest: Partial<ParentAndChild>, next: NextAction['kind']]>([
  ['it works', is('running'), is('running'), {}, 'wait'],
  ['it works while another one asks', isAsked('other'), is('running'), { question: (b) => `x/${b}` }, 'wait'],
  ['its parent was paused', is('paused'), is('running'), {}, 'pause'],
  ['both are paused', is('paused'), is('paused'), {}, 'wait'],
  ['its parent continues', is('running'), is('paused'), {}, 'run'],
  ['a user paused it alone', is('running'), is('paused'), { hasWorked: true }, 'ended'],
  ['a user paused it while another one asks', isAsked('b'), is('paused'), { ...asIts('x'), hasWorked: true }, 'ended'],
  ['the budget above is used up', is('running'), is('paused'), { hasWorked: true, isOverdrawn: true }, 'exhaust'],
  ['the budget above is used up, and all rest', is('paused'), is('paused'), { isOverdrawn: true }, 'wait'],
  ['it asks', is('running'), asks('b1'), {}, 'consult'],
  ['it asks, and its parent does', isAsked('b1'), asks('b1'), {}, 'wait'],
  ['it asks while its parent is paused', is('paused'), asks('b1'), {}, 'wait'],
  ['it was answered itself', isAsked('b1'), is('running'), {}, 'withdraw'],
  ['it was answered itself and asks again', isAsked('b1'), asks('b2'), {}, 'withdraw'],
  ['it was rejected', is('running'), is('idle'), {}, 'run'],
  ['its parent became more careful', { ...is('running'), ...always }, is('running'), {}, 'guard'],
  ['its parent became less careful', is('running'), { ...is('running'), ...always }, {}, 'wait'],
  ['it finished', is('running'), is('finished'), {}, 'ended'],
  ['it failed', is('running'), is('error'), {}, 'ended'],
  ['it goes round in circles', is('running'), is('stuck'), {}, 'ended'],
  ['it could not start', is('running'), { ...is('running'), ...failed }, {}, 'ended'],
])('%s', (_name, parent, child, rest, next) => {
  const related: ParentAndChild = {
    parent: { ...EMPTY_STATE, ...parent },
    child: { ...EMPTY_STATE, ...child },
    question,
    hasWorked: false,
    isOverdrawn: false,
    ...rest,
  }
  expect(nextAction(related).kind).toBe(next)
})

test('a child takes over the analyzer of its parent and never loses one', () => {
  const analyzer = { kind: 'PatternSecurityAnalyzer' } as never
  const running = { ...EMPTY_STATE, execution_status: 'running' as const }
  const related = { question, hasWorked: true, isOverdrawn: false }
  expect(nextAction({ ...related, parent: { ...running, security_analyzer: analyzer }, child: running })).toMatchObject(
    {
      kind: 'guard',
      analyzer,
    },
  )
  expect(nextAction({ ...related, parent: running, child: { ...running, security_analyzer: analyzer } }).kind).toBe(
    'wait',
  )
})
