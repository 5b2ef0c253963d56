import { AgentContext, apply, asEventId, EMPTY_STATE, textContent, userMessage, type Draft } from '@parley/protocol'
import type { AgentBase, ConversationState, Event } from '@parley/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { givenOn, withKnowledge } from './knowledge.ts'

const WORDS = ['alpha', 'beta', 'gamma']
const agent_context = AgentContext.parse({
  skills: WORDS.map((word) => ({ name: word, content: word, trigger: { type: 'keyword', keywords: [word] } })),
})
const record = {
  agent: { agent_context } as AgentBase,
  workspace: { kind: 'LocalWorkspace' as const, working_dir: '/work' },
}
const saying = (text: string): Draft => userMessage([textContent(text)])

/** The log of one branch after commits of these messages. */
function committed(commits: readonly (readonly string[])[]): { state: ConversationState; events: Event[] } {
  let state = EMPTY_STATE
  const events: Event[] = []
  for (const texts of commits) {
    for (const draft of withKnowledge(texts.map(saying), { state, record, action: () => undefined })) {
      const seq = state.seq + 1
      const event = { ...draft, id: asEventId(`e${seq}`), timestamp: '', parent_id: state.leaf_event_id } as Event
      events.push(event)
      state = apply(state, { seq, event })
    }
  }
  return { state, events }
}

test('each skill is given at most once on a branch, however messages are committed (P53)', () => {
  const text = fc
    .array(fc.constantFrom(...WORDS, 'other', 'alphabet'), { maxLength: 4 })
    .map((words) => words.join(' '))
  fc.assert(
    fc.property(fc.array(fc.array(text, { maxLength: 3 }), { maxLength: 6 }), (commits) => {
      const { state, events } = committed(commits)
      const given = events.flatMap((event) => (event.kind === 'MessageEvent' ? event.activated_skills : []))
      expect(new Set(given).size).toBe(given.length)
      expect(state.activated_knowledge_skills).toEqual(given)
      const said = new Set(commits.flat().flatMap((each) => each.split(' ')))
      expect(given.toSorted()).toEqual(WORDS.filter((word) => said.has(word)))
      expect(
        givenOn(
          events.map((event) => ({ event })),
          WORDS,
        ),
      ).toEqual(WORDS.filter((word) => given.includes(word)))
    }),
  )
})

test('a message that a hook blocked activates no skill, whether it was blocked in this commit or before', () => {
  const id = asEventId('m1')
  const message = { ...saying('alpha and beta'), id } as Draft
  const value = { [id]: 'no' }
  const blocking: Draft = { kind: 'StateChangedEvent', source: 'environment', key: 'blocked_messages', value }
  const known = (drafts: readonly Draft[], state: ConversationState) =>
    withKnowledge(drafts, { state, record, action: () => undefined })
  expect(known([blocking, message], EMPTY_STATE)).toEqual([blocking, message])
  expect(known([message], { ...EMPTY_STATE, blocked_messages: value })).toEqual([message])
  const blockedOther = { ...EMPTY_STATE, blocked_messages: { other: 'no' } }
  expect(known([message], blockedOther)).toMatchObject([
    { activated_skills: ['alpha', 'beta'] },
    { key: 'activated_knowledge_skills', value: ['alpha', 'beta'] },
  ])
})

test('drafts without skills are committed unchanged', () => {
  const drafts = [saying('nothing of the kind'), { ...saying('alpha'), source: 'environment' } as Draft]
  expect(withKnowledge(drafts, { state: EMPTY_STATE, record, action: () => undefined })).toEqual(drafts)
})
