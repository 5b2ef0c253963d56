/** The steps of the model: which ones are possible in a state, and what each one changes. */
import type { Append, Bounds, Guard, Node, Start, State, Step, Stored } from './model.ts'

/** Every step that is possible in a state. `without`: the guard that is removed. */
export function steps(state: State, { epochs }: Bounds, without: Guard | null): Step[] {
  const found: Step[] = []
  const has = (guard: Guard) => guard !== without
  state.nodes.forEach((node, n) => {
    const add = (name: string, to: State, fault: string | null = null) =>
      found.push({ name: `node ${n}: ${name}`, to, fault })
    const context = { state, node, n, epochs, has, add }
    if (node.append !== null) appendSteps(context, node.append)
    if (node.start !== null) startSteps(context, node.start)
    if (!node.isUp) return
    ownershipSteps(context)
    if (!node.lock) returnStep(context)
    if (node.copy !== null) turnSteps(context)
    faultSteps(context)
  })
  if (state.nodes.some(({ lock }) => lock)) found.push({ name: 'store: restarts', to: restarted(state), fault: null })
  return found
}

type Context = {
  state: State
  node: Node
  n: number
  epochs: number
  has: (guard: Guard) => boolean
  add: (name: string, to: State, fault?: string | null) => void
}

const withNode = (state: State, n: number, change: Partial<Node>): State => ({
  ...state,
  nodes: state.nodes.map((node, at) => (at === n ? { ...node, ...change } : node)),
})

/** Claiming, loading and giving away. Each is one transaction. */
function ownershipSteps({ state, node, n, epochs, has, add }: Context): void {
  const { owner } = state
  const isAlive =
    owner !== null && state.nodes[owner]!.lock && has('only conversations of nodes without a lock are claimed')
  const isQuiet = node.quiet && has('N6: nothing is claimed from others within one lease after a session began')
  const mayTake = node.lock && owner !== n && (owner === null || (!isAlive && !isQuiet))
  const epoch = state.epoch + 1
  if (epoch > epochs) return
  // `claim` and `orphans`: another owner means another epoch.
  if (mayTake) add('claims the conversation', { ...state, owner: n, epoch })
  // `own`: claims if necessary, raises the epoch also when the node has claimed it before, and reads the log.
  if (node.copy === null && (mayTake || owner === n)) {
    const copy = { epoch, seq: state.log.length, loadedSeq: state.log.length, step: 'rest' } as const
    add('owns and loads the conversation', withNode({ ...state, owner: n, epoch }, n, { copy }))
  }
}

/** The lease session is back: the node takes its own number again, and asks what it still owns (N5). */
function returnStep({ state, node, n, has, add }: Context): void {
  const isLost = state.owner !== n && has('N5: a node asks what it still owns when its session is back')
  const copy = isLost ? null : node.copy
  add('takes its lock again', withNode(state, n, { lock: true, fresh: true, quiet: true, copy }))
}

/** The next step of the turn of a conversation in memory. */
function turnSteps(context: Context): void {
  const { state, node, n, has, add } = context
  const copy = node.copy!
  const { epoch, seq } = copy
  const newest = seq === 0 ? null : state.log[seq - 1]!
  const store = (event: Stored) =>
    withNode(state, n, { copy: { ...copy, step: 'storing' }, append: { epoch, expected: seq, event } })
  const send = (call: number): State => withNode(state, n, { copy: { ...copy, step: 'sent' }, start: { epoch, call } })
  const isCallOpen = newest?.kind === 'call'
  const call = newest === null ? 0 : isCallOpen ? newest.call : newest.call + 1
  if (call === state.begun.length) return
  switch (copy.step) {
    case 'rest':
      if (!isCallOpen) {
        // Without the guard, the call is sent while its event is not stored.
        if (has('a call is stored before it begins')) {
          if (node.append === null) add(`sends the append of call ${call}`, store({ kind: 'call', call, epoch }))
        } else if (node.start === null) add(`sends call ${call}`, send(call))
      } else if (seq <= copy.loadedSeq && state.noted > call)
        add(`asks the executor about call ${call}`, asked(state, n, call))
      // `coordination.confirm`, then `NoteStore.put`, then the start request. Without a note the call was never sent.
      else confirm(context, call)
      return
    case 'permitted':
      // `NoteStore.put` compares the epoch as an append does.
      if (epoch === state.epoch || !has('the store compares the epoch'))
        add(
          `stores the note of call ${call}`,
          withNode({ ...state, noted: call + 1 }, n, { copy: { ...copy, step: 'noted' } }),
        )
      else add('gives the conversation up: its note is refused', withNode(state, n, { copy: null }))
      return
    case 'noted':
      if (node.start === null) add(`sends call ${call}`, send(call))
      return
    case 'storing':
      // The answer was lost, or the request: the same append is sent again (S6).
      if (node.append === null) add('repeats its append', store({ kind: isCallOpen ? 'result' : 'call', call, epoch }))
      return
    case 'sent':
      if (node.start === null) add(`repeats call ${call}`, send(call))
      return
    case 'ended':
      if (node.append === null)
        add(`sends the append of the result of call ${call}`, store({ kind: 'result', call, epoch }))
      return
  }
}

/** `coordination.confirm`: without a fresh lease nothing begins. */
function confirm({ state, node, n, has, add }: Context, call: number): void {
  if (!node.fresh && has('N4: no call begins without a confirmed lease')) return
  const fault = state.owner === n ? null : `node ${n} may begin call ${call}, which belongs to node ${state.owner}`
  add(`confirms its lease for call ${call}`, withNode(state, n, { copy: { ...node.copy!, step: 'permitted' } }), fault)
}

/** `GREET` and `LOOK`: the executor learns the epoch, and says whether the call has begun. */
function asked(state: State, n: number, call: number): State {
  const copy = state.nodes[n]!.copy!
  if (state.known > copy.epoch) return withNode(state, n, { copy: null })
  const next = { ...state, known: copy.epoch, acted: Math.max(state.acted, copy.epoch) }
  // From here on the call counts as one of this copy: begun is attached to, absent is begun.
  return withNode(next, n, { copy: { ...copy, loadedSeq: 0, step: state.begun[call]! > 0 ? 'ended' : 'rest' } })
}

/**
 * `append`: it is stored when epoch and end of the log are those of its writer, or when it is the newest one already (S6). The request may be
 * lost, and so may the answer; the writer cannot tell them apart.
 */
function appendSteps({ state, node, n, has, add }: Context, { epoch, expected, event }: Append): void {
  add('the request of its append is lost', withNode(state, n, { append: null }))
  const newest = state.log.at(-1)
  const isStored =
    state.log.length === expected + 1 &&
    newest?.kind === event.kind &&
    newest.call === event.call &&
    newest.epoch === epoch
  const isRefused =
    (epoch !== state.epoch && has('the store compares the epoch')) ||
    (expected !== state.log.length && has('the store compares the end of the log'))
  const name = `its append of ${event.kind} ${event.call}`
  const isAwaited = node.copy?.step === 'storing' && node.copy.epoch === epoch
  if (isStored && has('the store compares the end of the log')) return answered(state, 'is stored already')
  if (isRefused)
    return add(`${name} is refused`, withNode(state, n, { append: null, ...(isAwaited ? { copy: null } : {}) }))
  const fault =
    (newest?.epoch ?? 0) > epoch
      ? `an event of epoch ${epoch} follows one of epoch ${newest!.epoch}`
      : state.log.some(({ kind, call }) => kind === event.kind && call === event.call)
        ? `${event.kind} ${event.call} is stored twice`
        : epoch < state.epoch
          ? `an event of epoch ${epoch} is stored although epoch ${state.epoch} has an owner`
          : null
  answered({ ...state, log: [...state.log, event], acted: Math.max(state.acted, epoch) }, 'is stored', fault)

  function answered(to: State, what: string, found: string | null = null): void {
    const copy = isAwaited ? { copy: { ...node.copy!, seq: expected + 1, step: 'rest' as const } } : {}
    add(`${name} ${what}`, withNode(to, n, { append: null, ...copy }), found)
    if (isAwaited) add(`${name} ${what}, and the answer is lost`, withNode(to, n, { append: null }), found)
  }
}

/** `SUPERVISE`: the executor refuses an older epoch, and begins a call once. The sender asks again when no answer comes. */
function startSteps({ state, node, n, has, add }: Context, { epoch, call }: Start): void {
  add('its start request is lost', withNode(state, n, { start: null }))
  const isAwaited = node.copy?.step === 'sent' && node.copy.epoch === epoch
  if (epoch < state.known && has('the executor refuses older epochs')) {
    add(
      `its call ${call} is refused by the executor`,
      withNode(state, n, { start: null, ...(isAwaited ? { copy: null } : {}) }),
    )
    return
  }
  const known = Math.max(state.known, epoch)
  const copy = isAwaited ? { copy: { ...node.copy!, step: 'ended' as const } } : {}
  if (state.begun[call]! > 0 && has('the executor begins a call once')) {
    add(`its call ${call} has begun already`, withNode({ ...state, known }, n, { start: null, ...copy }))
    return
  }
  const begun = state.begun.map((times, at) => (at === call ? times + 1 : times))
  const fault = !state.log.some((event) => event.kind === 'call' && event.call === call)
    ? `call ${call} has begun, and is not stored`
    : begun[call]! > 1
      ? `call ${call} has begun twice`
      : epoch < state.acted
        ? `call ${call} of epoch ${epoch} has begun after epoch ${state.acted} had acted`
        : null
  const to = { ...state, known, begun, acted: Math.max(state.acted, epoch) }
  add(`its call ${call} begins`, withNode(to, n, { start: null, ...copy }), fault)
  if (isAwaited) add(`its call ${call} begins, and the answer is lost`, withNode(to, n, { start: null }), fault)
}

const ENDED = { isUp: false, lock: false, fresh: false, quiet: false, copy: null } as const

function faultSteps({ state, node, n, add }: Context): void {
  add('is killed', withNode(state, n, ENDED))
  // `release`, before the process of a drained node ends. What is on its way stays on its way.
  if (state.owner === n)
    add('drains: it releases the conversation and ends', withNode({ ...state, owner: null }, n, ENDED))
  // The database ends an idle session after a lease. Two thirds of it are over before that, also for a node that is frozen.
  if (node.lock) add('loses its lock', withNode(state, n, { lock: false, fresh: false, quiet: false }))
  if (node.quiet) add('has had its session for one lease', afterLease(state, n))
}

/** A lease after a session began, every node whose session ended before that has seen two thirds of its own lease pass. */
function afterLease(state: State, n: number): State {
  const nodes = state.nodes.map((node, at) =>
    at === n ? { ...node, quiet: false } : node.lock ? node : { ...node, fresh: false },
  )
  return { ...state, nodes }
}

/** All locks are gone at once, and no node knows yet. A promoted standby looks the same. */
function restarted(state: State): State {
  return { ...state, nodes: state.nodes.map((node) => ({ ...node, lock: false, quiet: false })) }
}
