/**
 * The agent's own form of open calls whose stored form is masked: sealed notes, with which a call is executed after a restart as it
 * was meant.
 *
 * Invariants
 *   S1. A note is written in the transaction that stores its call, and deleted in the one that stores the answer.
 *   S2. A note counts only if masking its arguments now gives the stored form. So the arguments are those that an approval names, and
 *       their secrets are masked in the result too: a secret that was changed or deleted since is not used.
 *   S3. A note names its conversation and its call; under another one it does not count.
 * Source: docs/events.md, Approvals.
 */
import type { ActionEvent, ConversationId, ConversationState, Draft, OpenAction, StoredEvent } from '@parley/protocol'
import type { Log } from '../../observability/index.ts'
import { MASK, type Cipher } from '../../secrets/index.ts'
import type { EventStore, Note, NoteStore } from '../../storage/index.ts'
import { callDigest } from '../record/call-digest.ts'

/** Longest arguments of one call that are kept, in characters of JSON. A longer masked call is refused after a restart. */
const MAX_CHARS = 1024 * 1024
/** Approvals that are read at once. */
const PAGE = 100

type Own = Pick<ActionEvent, 'action' | 'tool_call'>
type Sealed = Own & { conversation: ConversationId; call: string }

const isMasked = ({ action }: Own): boolean => action !== null && JSON.stringify(action).includes(MASK)

/** A commit: its events, the same events before they were masked, and the state after it. */
type Commit = {
  events: readonly StoredEvent[]
  drafts: readonly Draft[]
  state: Pick<ConversationState, 'open_actions'>
}

/** Notes of the masked calls that a commit opens. */
export function sealedArguments(
  conversation: ConversationId,
  { events, drafts, state }: Commit,
  cipher: Pick<Cipher, 'seal'>,
): Note[] {
  return events.flatMap(({ event }, at) => {
    const draft = drafts[at]
    if (event.kind !== 'ActionEvent' || draft?.kind !== 'ActionEvent' || !isMasked(event)) return []
    if (!state.open_actions.some(({ id }) => id === event.id)) return []
    const { action, tool_call } = draft
    const text = JSON.stringify({ conversation, call: event.id, action, tool_call } satisfies Sealed)
    return text.length > MAX_CHARS ? [] : [{ about: event.id, kind: 'arguments' as const, text: cipher.seal(text) }]
  })
}

export type RestoreDeps = {
  events: Pick<EventStore, 'page'>
  notes: Pick<NoteStore, 'get'>
  cipher: Pick<Cipher, 'open'>
  /** Masks the secrets that the conversation has now. */
  mask: (drafts: readonly Draft[]) => Promise<readonly Draft[]>
  log: Pick<Log, 'warn'>
}

/** Returns a masked open call in the agent's own form; null when that is not available any more. */
export async function restoreArguments(
  conversation: ConversationId,
  event: ActionEvent,
  open: OpenAction,
  deps: RestoreDeps,
): Promise<ActionEvent | null> {
  if (!isMasked(event)) return null
  const sealed = await deps.notes.get(conversation, 'arguments', event.id)
  if (sealed === null) return null
  const refused = (reason: string, err?: unknown): null => {
    deps.log.warn(
      { conversation_id: conversation, action_id: event.id, reason, err },
      'arguments of a call not restored',
    )
    return null
  }
  let own: Sealed
  try {
    own = JSON.parse(deps.cipher.open(sealed)) as Sealed
  } catch (error) {
    return refused('unreadable', error)
  }
  const { action, tool_call } = own
  if (own.conversation !== conversation || own.call !== event.id) return refused('foreign')
  const restored = { ...event, action, tool_call }
  const [masked] = (await deps.mask([restored])) as ActionEvent[]
  const digest = callDigest(masked!)
  if (digest !== callDigest(event)) return refused('a secret was changed')
  if (open.consent === 'given' && !(await isApproved(conversation, open, digest, deps.events)))
    return refused('not the approved arguments')
  return restored
}

/** Returns whether the newest approval of a call names these arguments. An approval of an older log names none. */
async function isApproved(
  conversation: ConversationId,
  { id, seq }: OpenAction,
  digest: string,
  events: RestoreDeps['events'],
): Promise<boolean> {
  let named: string | null | undefined
  for (let from = seq + 1; ;) {
    const page = await events.page(conversation, { from, limit: PAGE, filter: { kinds: ['ApprovalEvent'] } })
    for (const { event } of page) {
      if (event.kind !== 'ApprovalEvent' || event.decision !== 'accept' || !event.action_ids.includes(id)) continue
      named = event.actions === undefined ? null : event.actions.find(({ action_id }) => action_id === id)?.digest
    }
    if (page.length < PAGE) return named === null || named === digest
    from = page.at(-1)!.seq + 1
  }
}
