/**
 * Drafts that skills add to a commit: their text behind a message or a tool result, and the record that it was given. Pure.
 * Source: agent-core.md 6.4, 6.5.
 */
import {
  textContent,
  type ActionEvent,
  type ConversationState,
  type Draft,
  type EventId,
  type StoredEvent,
} from '@parley/protocol'
import { skillsForMessage, skillsForFile } from '../../skills/index.ts'
import type { ConversationRecord } from '../record/record.ts'

type Given = Pick<ConversationState, 'activated_knowledge_skills' | 'activated_path_rules' | 'invoked_skills'>

export type Knowing = {
  state: ConversationState
  record: Pick<ConversationRecord, 'agent' | 'workspace'>
  /** Returns an open action by id. */
  action: (id: EventId) => ActionEvent | undefined
}

/** Returns the drafts, each followed by its additions. A skill is given once, until its text is forgotten (F61). */
export function withKnowledge(drafts: readonly Draft[], { state, record, action }: Knowing): readonly Draft[] {
  if (!drafts.some(concerns)) return drafts
  const context = record.agent.agent_context
  const workingDir = record.workspace.working_dir
  let given: Given = state
  let blocked = state.blocked_messages
  return drafts.flatMap((draft): Draft[] => {
    if (draft.kind === 'StateChangedEvent') {
      if (draft.key === 'blocked_messages') blocked = draft.value as typeof blocked
      if (isGiven(draft.key)) given = { ...given, [draft.key]: draft.value }
      return [draft]
    }
    if (draft.kind === 'MessageEvent' && draft.source === 'user') {
      const id = 'id' in draft ? (draft.id as EventId) : null
      if (context === null || (id !== null && Object.hasOwn(blocked, id))) return [draft]
      const { text, names } = skillsForMessage(context, wordsOf(draft), given.activated_knowledge_skills)
      if (text === null) return [draft]
      const message: Draft = {
        ...draft,
        activated_skills: [...draft.activated_skills, ...names],
        extended_content: [...draft.extended_content, textContent(text)],
      }
      return [message, ...added('activated_knowledge_skills', names)]
    }
    if (draft.kind !== 'ObservationEvent') return [draft]
    const { observation } = draft
    const invoked =
      observation.kind === 'InvokeSkillObservation' && !observation.is_error ? [observation.skill_name] : []
    const path = pathOf(action(draft.action_id))
    const rules =
      path === null ? null : skillsForFile(context, path, { workingDir, active: given.activated_path_rules })
    const answer = rules?.text
      ? { ...draft, extended_content: [...draft.extended_content, textContent(rules.text)] }
      : draft
    return [answer, ...added('activated_path_rules', rules?.names ?? []), ...added('invoked_skills', invoked)]
  })

  function added(key: keyof Given, names: readonly string[]): Draft[] {
    const fresh = names.filter((name) => !given[key].includes(name))
    if (fresh.length === 0) return []
    given = { ...given, [key]: [...given[key], ...fresh] }
    return [{ kind: 'StateChangedEvent', source: 'environment', key, value: given[key] }]
  }
}

/** Returns the active skills whose text is on a branch; the others may be given there again. */
export function givenOn(branch: readonly Pick<StoredEvent, 'event'>[], active: readonly string[]): string[] {
  const given = new Set(branch.flatMap(({ event }) => (event.kind === 'MessageEvent' ? event.activated_skills : [])))
  return active.filter((name) => given.has(name))
}

const concerns = ({ kind }: Draft): boolean => kind === 'MessageEvent' || kind === 'ObservationEvent'

const isGiven = (key: string): key is keyof Given =>
  key === 'activated_knowledge_skills' || key === 'activated_path_rules' || key === 'invoked_skills'

function wordsOf({ llm_message }: Extract<Draft, { kind: 'MessageEvent' }>): string {
  return llm_message.content.flatMap((part) => (part.type === 'text' ? [part.text] : [])).join('\n')
}

function pathOf(event: ActionEvent | undefined): string | null {
  const action = event?.action
  return action && 'path' in action && typeof action.path === 'string' ? action.path : null
}
