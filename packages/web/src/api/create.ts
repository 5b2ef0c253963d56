/** Creating a conversation from the choices of a person. */
import { type Policy, recordsOf } from '../lib/policy.ts'
import { server } from './server.ts'

export type Place =
  /** A new, empty directory that the server creates. */
  | { readonly kind: 'empty' }
  | { readonly kind: 'repository'; readonly repository: string; readonly branch: string }
  | { readonly kind: 'directory'; readonly path: string; readonly worktree: boolean }

export type NewConversation = {
  readonly task: string
  readonly place: Place
  /** Id of an agent profile, which a directory needs. */
  readonly agentProfile: string | null
  /** Name of a model profile; null: the model of the settings. */
  readonly modelProfile: string | null
  readonly policy: Policy
}

/**
 * Creates the conversation `id`, a UUID, and sends its first message. Resolves when the message is stored; the start continues.
 * The same id may be sent again: nothing is created twice.
 */
export async function createConversation(id: string, wanted: NewConversation): Promise<void> {
  if (wanted.place.kind === 'directory') return inDirectory(id, wanted, wanted.place)
  const { place } = wanted
  const repository =
    place.kind === 'repository'
      ? { repository: place.repository.trim(), selected_branch: place.branch.trim() || null }
      : {}
  await server.call('POST', '/api/conversations', { body: { conversation_id: id, ...repository } })
  const at = `/api/conversations/${id}`
  // In this order: the policy is in force before the first step of the agent.
  const { policy, analyzer } = recordsOf(wanted.policy)
  await server.call('POST', `${at}/confirmation_policy`, { body: { policy } })
  if (analyzer !== null) await server.call('POST', `${at}/security_analyzer`, { body: { security_analyzer: analyzer } })
  if (wanted.modelProfile !== null)
    await server.call('POST', `${at}/switch_profile`, { body: { profile_name: wanted.modelProfile } })
  // The message has the id of its conversation, so that a repeated request stores it once.
  if (wanted.task.trim() !== '')
    await server.call('POST', `${at}/events`, { body: { ...message(wanted.task), run: true, event_id: id } })
}

async function inDirectory(
  id: string,
  { task, agentProfile, policy }: NewConversation,
  { path, worktree }: Extract<Place, { kind: 'directory' }>,
): Promise<void> {
  const records = recordsOf(policy)
  const body = {
    conversation_id: id,
    workspace: { kind: 'LocalWorkspace', working_dir: path.trim() },
    worktree,
    agent_profile_id: agentProfile,
    confirmation_policy: records.policy,
    security_analyzer: records.analyzer,
    ...(task.trim() === '' ? {} : { initial_message: message(task) }),
  }
  await server.call('POST', '/api/conversations', { body })
}

const message = (text: string) => ({ content: [{ type: 'text', text: text.trim() }] })
