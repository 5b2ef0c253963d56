/**
 * The check of a sequence: from the effects that were counted outside of the server, from the stored logs, and from the requests
 * that the test sent. It uses no code of the server.
 *
 * A call may begin when a stored approval names it with the digest of its arguments and no message came after, or when the policy
 * of that moment does not ask about it. The moment is known as a range of the log: the call was stored before it began, and, where
 * the call before it in its batch ended outside, that had ended; it began before it arrived outside, or before its result was stored.
 */
import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { basename } from 'node:path'
import type { Loose } from '../../../packages/server/testing/restartable-server.ts'
import type { Effect } from './effects.ts'
import { SECRET, tagsOf, type Planned } from './model.ts'
import type { Place } from './place.ts'
import type { Played } from './sequence.ts'
import type { Stored } from './stored-logs.ts'

/** What the sequences contained; without it the check would prove nothing. */
export type Counts = {
  approved: number
  executed: number
  /** Executions of sub-agents. */
  below: number
  /** Executions without an approval, under a policy that did not ask. */
  free: number
  /** Approved calls with a secret value that were executed, and those that were not. */
  secret: number
  withheld: number
  /** Approvals by a request that named no batch, and such requests that were refused because the batch had not been shown. */
  unnamed: number
  unseen: number
  /** Batches of sub-agents under the response id of one that was approved before. */
  repeated: number
}

export const NO_COUNTS: Readonly<Counts> = {
  approved: 0,
  executed: 0,
  below: 0,
  free: 0,
  secret: 0,
  withheld: 0,
  unnamed: 0,
  unseen: 0,
  repeated: 0,
}

type Log = { id: string; parent: string | null; events: readonly Stored[] }

/** @throws Error for an execution without an approval, with other arguments or twice, and for an approval that no request gave. */
export function check(place: Place, played: Played): Counts {
  const { seed, trace } = played
  try {
    return checkLogs(place, played, logsOf(place, played))
  } catch (error) {
    throw new Error(`seed ${seed}: ${(error as Error).message}: ${trace.join(', ')}`, { cause: error })
  }
}

function logsOf({ logs }: Place, { ids }: Played): Log[] {
  const own = ids.map((id): Log => ({ id, parent: null, events: logs.events(id) }))
  const below = ids.flatMap((parent) =>
    logs.children(parent).map((id): Log => ({ id, parent, events: logs.events(id) })),
  )
  const known = new Set(ids)
  // A fork comes after its source, also when the source is a sub-agent.
  const order = [...logs.positions().keys()]
  const all = [...own, ...below.filter(({ id }) => !known.has(id))]
  return all.toSorted((one, other) => order.indexOf(one.id) - order.indexOf(other.id))
}

function checkLogs(place: Place, played: Played, logs: readonly Log[]): Counts {
  const counts = { ...NO_COUNTS }
  for (const log of logs) {
    checkApprovals(log, logs, played, counts)
    if (log.parent !== null) counts.repeated += repeatedBatches(log.events)
  }
  const planned = place.model.plannedBy(played.seed)
  for (const [tag, plan] of planned) {
    const effects = place.effects.calls.get(tag) ?? []
    const isWritten = plan.path !== null && existsSync(plan.path)
    const found = ownerOf(tag, logs)
    if (effects.length === 0 && !isWritten) {
      if (found !== null && plan.note.includes(SECRET) && isApproved(found)) counts.withheld += 1
      continue
    }
    if (effects.length > 1) throw new Error(`${tag} was executed ${effects.length} times`)
    if (found === null) throw new Error(`${tag} was executed and is not stored`)
    expectArguments(tag, plan, effects[0])
    const range = rangeOf(found, effects[0], place)
    if (!mayBegin(found.log.events, found.action, range))
      throw new Error(`${tag} (action ${found.action.event.id} of ${found.log.id}) was executed without approval`)
    counts.executed += 1
    if (found.log.parent !== null) counts.below += 1
    if (!isApproved(found)) counts.free += 1
    else if (plan.note.includes(SECRET)) counts.secret += 1
  }
  const known = [...place.effects.calls.keys()].filter((tag) => tag.startsWith(tagsOf(played.seed)))
  for (const tag of known) if (!planned.has(tag)) throw new Error(`${tag} was executed and never called by the model`)
  return counts
}

type Found = { log: Log; action: Stored }

const tagOf = ({ action }: Loose): string | undefined =>
  action?.data?.tag ?? (action?.path === undefined ? undefined : basename(action.path, '.txt'))

/** The call with a tag. Forks have copies of it, which are never executed; the log that comes first has the call itself. */
function ownerOf(tag: string, logs: readonly Log[]): Found | null {
  for (const log of logs) {
    const action = log.events.find(({ event }) => event.kind === 'ActionEvent' && tagOf(event) === tag)
    if (action !== undefined) return { log, action }
  }
  return null
}

function expectArguments(tag: string, { note, path }: Planned, effect: Effect | undefined): void {
  const got = effect === undefined ? readFileSync(path!, 'utf8') : effect.args['note']
  if (got !== note) throw new Error(`${tag} was executed with "${String(got)}" instead of "${note}"`)
}

/** The range of the log in which a call began. */
function rangeOf({ log, action }: Found, effect: Effect | undefined, { effects }: Place): [from: number, to: number] {
  const last = log.events.at(-1)!.seq
  const result = log.events.find(
    ({ event }) => event.kind === 'ObservationEvent' && event.action_id === action.event.id,
  )
  const to = effect === undefined ? (result?.seq ?? last + 1) - 1 : (effect.arrived.get(log.id) ?? last)
  // The calls of an answer are executed one after the other.
  const before = log.events.filter(
    ({ seq, event }) =>
      seq < action.seq && event.kind === 'ActionEvent' && event.llm_response_id === action.event.llm_response_id,
  )
  const ended = before.map(({ event }) => effects.calls.get(tagOf(event) ?? '')?.[0]?.ended?.get(log.id) ?? 0)
  return [Math.min(to, Math.max(action.seq, ...ended)), to]
}

/** Returns whether a stored action was allowed to begin at some point of a range of its log. */
export function mayBegin(log: readonly Stored[], action: Stored, [from, to]: readonly [number, number]): boolean {
  const { id, security_risk } = action.event
  let policy: Loose = { kind: 'NeverConfirm' }
  let isApproved = false
  let isWrittenTo = false
  let isOver = false
  for (const { seq, event } of log) {
    if (seq > to) return false
    if (event.kind === 'StateChangedEvent' && event.key === 'confirmation_policy') policy = event.value
    if (seq > action.seq) {
      if (event.kind === 'MessageEvent' && event.source === 'user') [isApproved, isWrittenTo] = [false, true]
      if (event.kind === 'ApprovalEvent' && names(event, log, action)) isApproved = event.decision === 'accept'
      if ((event.kind === 'ObservationEvent' || event.kind === 'UserRejectObservation') && event.action_id === id)
        isOver = true
    }
    const isFree = !asks(policy, security_risk) && (!isWrittenTo || policy.kind === 'NeverConfirm')
    if (seq >= from && seq >= action.seq && !isOver && (isApproved || isFree)) return true
  }
  return false
}

/** True for an approval of the batch with an action, by its id and the digest of its arguments. */
function names({ batch_id, action_ids, actions }: Loose, log: readonly Stored[], { event }: Stored): boolean {
  const asked = log.find((each) => each.event.kind === 'ConfirmationRequestedEvent' && each.event.id === batch_id)
  return (
    asked?.event.actions.some((each: Loose) => each.action_id === event.id) === true &&
    action_ids.includes(event.id) &&
    isListed(actions, event)
  )
}

const isListed = (actions: readonly Loose[], event: Loose): boolean =>
  actions.some(({ action_id, digest }) => action_id === event.id && digest === digestOf(event))

function asks(policy: Loose, risk: string): boolean {
  if (policy.kind !== 'ConfirmRisky') return policy.kind !== 'NeverConfirm'
  const ranks = ['LOW', 'MEDIUM', 'HIGH']
  if (risk === 'UNKNOWN') return policy.confirm_unknown !== false
  return ranks.indexOf(risk) >= ranks.indexOf(policy.threshold ?? 'HIGH')
}

/** SHA-256 of tool and arguments as JSON, the members of every object in alphabetical order. */
function digestOf({ action, tool_name }: Loose): string {
  const sorted = (value: Loose): Loose => {
    if (Array.isArray(value)) return value.map(sorted)
    if (typeof value !== 'object' || value === null) return value
    return Object.fromEntries(
      Object.keys(value)
        .toSorted()
        .map((name) => [name, sorted(value[name])]),
    )
  }
  return createHash('sha256')
    .update(JSON.stringify(sorted({ action, tool_name })))
    .digest('hex')
}

const isApproved = ({ log, action }: Found): boolean =>
  log.events.some(
    ({ event }) => event.kind === 'ApprovalEvent' && event.decision === 'accept' && names(event, log.events, action),
  )

/** Every stored approval was given by a request about that batch, which had been shown; those of a sub-agent also by its parent's. */
function checkApprovals(log: Log, logs: readonly Log[], played: Played, counts: Counts): void {
  const approvals = log.events.filter(({ event }) => event.kind === 'ApprovalEvent')
  const accepted = approvals.filter(({ event }) => event.decision === 'accept')
  const batches = accepted.map(({ event }) => event.batch_id)
  if (new Set(batches).size < batches.length) throw new Error(`a batch of ${log.id} was approved twice`)
  for (const { id, batch, accepts, status } of played.decisions)
    if (id === log.id && !accepts && status === 200 && batch !== null && batches.includes(batch))
      throw new Error(`the rejection of batch ${batch} succeeded, and the batch is approved`)
  counts.unseen += played.decisions.filter(({ id, isUnseen }) => id === log.id && isUnseen).length
  for (const approval of accepted) {
    counts.approved += approval.event.actions.length
    const requests = played.decisions.filter(({ id, accepts, status, before, after }) => {
      const isPossible = status === 200 || status === 0 || status === 503
      return id === log.id && accepts && isPossible && before < approval.seq && approval.seq <= after
    })
    const named = requests.filter(({ batch }) => batch === approval.event.batch_id)
    if (named.length > 0 || isRelayed(approval.event, log, logs)) continue
    const asked = log.events.find(({ event }) => event.id === approval.event.batch_id)?.seq ?? 0
    const open = requests.filter(({ batch }) => batch === null)
    const wasShown = ({ answeredAt }: { answeredAt: number }) =>
      played.shown.some(
        ({ id, askedAt, seq, text }) =>
          id === log.id &&
          askedAt < answeredAt &&
          seq >= asked &&
          /waiting_for_confirmation|confirmation_request/.test(text),
      )
    if (open.length === 0) throw new Error(`no request approved batch ${approval.event.batch_id} of ${log.id}`)
    if (!open.some(wasShown)) throw new Error(`batch ${approval.event.batch_id} was approved without being shown`)
    counts.unnamed += 1
  }
}

/** Number of batches with the response id of a batch that was approved before them. */
function repeatedBatches(log: readonly Stored[]): number {
  const approved = new Set<string>()
  let repeated = 0
  for (const { event } of log) {
    if (event.kind === 'ApprovalEvent' && event.decision === 'accept') approved.add(event.llm_response_id)
    if (event.kind === 'ConfirmationRequestedEvent' && approved.has(event.llm_response_id)) repeated += 1
  }
  return repeated
}

/** True when an approval in the parent's log names the actions of this one, each with the digest of its arguments. */
function isRelayed({ actions }: Loose, log: Log, logs: readonly Log[]): boolean {
  const parent = logs.find(({ id }) => id === log.parent)
  const events = actions.map(({ action_id }: Loose) => log.events.find(({ event }) => event.id === action_id)?.event)
  return (
    parent?.events.some(
      ({ event }) =>
        event.kind === 'ApprovalEvent' &&
        event.decision === 'accept' &&
        events.every((action: Loose) => action !== undefined && isListed(event.actions, action)),
    ) === true
  )
}
