/**
 * The native agent with a recording in place of its model, as long as the recording lasts.
 *
 * Invariants
 *   R1. How far it has come is in the log (`state().replay`), written in the commit of what was played: a restart goes on there
 *       and plays nothing twice.
 *   R2. Recorded results are compared and never fed back. What was stored is compared, so that masks are alike on both sides.
 *   R3. A call that was refused in the recording is refused here.
 *   R4. While recorded turns are left the agent owes a step, whatever it said last.
 */
import type { Agent as AgentConfig, Draft, EventId, ReplayProgress, StoredEvent, TreeEvent } from '@parley/protocol'
import { isTreeEvent, userMessage } from '@parley/protocol'
import type { Agent, Step, Turn } from '../agent.ts'
import { createNativeAgent, type NativeAgentDeps } from '../native/native-agent.ts'
import { Comparison } from './comparison.ts'
import { movesTo, type RecordedTurn, type Recording } from './recording.ts'
import { placeOf, ReplayModel, type RecordedAnswer } from './replay-model.ts'

export type Replay = { recording: Recording; stopOnDivergence: boolean }

/** An agent that plays `recording` first. @throws as `createNativeAgent`. */
export function createReplayAgent(config: AgentConfig, replay: Replay, deps: NativeAgentDeps): Agent {
  const moves = movesTo(replay.recording, deps.workspace.workingDir)
  let model: ReplayModel | null = null
  let own = config.llm
  const inner = createNativeAgent(config, {
    ...deps,
    isAsked: () => model?.isPlaying !== true,
    // Other models of the agent answer for themselves.
    openLlm: (llm) => (llm === own ? (model = new ReplayModel(deps.openLlm(llm), moves)) : deps.openLlm(llm)),
  })
  const player = new Player(replay, inner, (answer) => model?.cue(answer), new Comparison(replay.recording, moves))
  return {
    ...(inner.prepare === undefined ? {} : { prepare: (signal) => inner.prepare?.(signal) ?? Promise.resolve() }),
    preamble: () => inner.preamble(),
    think: (turn, signal) => player.think(turn, signal),
    execute: (actions, turn, signal) => player.compared(inner.execute(actions, turn, signal), turn),
    recover: (actions, turn, signal) => player.compared(inner.recover(actions, turn, signal), turn),
    condense: (turn, signal) => inner.condense(turn, signal),
    ask: (question, turn, signal) => inner.ask(question, turn, signal),
    reconfigure: (next) => {
      own = next.llm
      inner.reconfigure(next)
    },
    interrupt: () => inner.interrupt(),
    [Symbol.asyncDispose]: () => inner[Symbol.asyncDispose](),
  }
}

class Player {
  readonly #turns: readonly RecordedTurn[]
  readonly #stops: boolean
  readonly #inner: Agent
  readonly #cue: (answer: RecordedAnswer | null) => void
  readonly #comparison: Comparison

  constructor(
    { recording, stopOnDivergence }: Replay,
    inner: Agent,
    cue: (answer: RecordedAnswer | null) => void,
    comparison: Comparison,
  ) {
    this.#turns = recording.turns
    this.#stops = stopOnDivergence
    this.#inner = inner
    this.#cue = cue
    this.#comparison = comparison
  }

  async *think(turn: Turn, signal: AbortSignal): Step {
    // Answers that others wrote, such as a person's refusal, have not been looked at yet.
    const late = this.#noted(newestAnswers(turn.view()), turn)
    if (late.length > 0) {
      yield late
      if (turn.state().execution_status !== 'running') return
    }
    const { replay: progress } = turn.state()
    const next = progress === null ? undefined : this.#turns[progress.position]
    this.#cue(next?.by === 'agent' ? next : null)
    if (progress === null || next === undefined) {
      yield* this.#inner.think(turn, signal)
      return
    }
    // What was noted is about the newest calls, and stays until there are newer ones.
    const noted = next.by === 'agent' && next.calls.length > 0 ? [] : progress.noted
    const played = told({ ...progress, position: progress.position + 1, noted })
    if (next.by === 'user') {
      yield [userMessage(next.content), played]
      return
    }
    const isLast = progress.position + 1 === this.#turns.length
    const asked = this.#inner.think(turn, signal)
    const added = (drafts: readonly Draft[]) => [
      ...drafts.map((draft) => spent(draft, isLast)),
      ...refusals(next, drafts, turn),
      played,
    ]
    yield* this.#each(asked, added, turn)
  }

  /** What the inner agent drafts while it performs calls, and after each commit what differs from the recording. */
  compared(step: Step, turn: Turn): Step {
    return this.#each(step, (drafts) => drafts.map((draft) => this.#sourceOf(draft)), turn)
  }

  async *#each(step: Step, change: (drafts: readonly Draft[]) => readonly Draft[], turn: Turn): Step {
    let stored: readonly StoredEvent[] = []
    try {
      for (;;) {
        const { done, value } = await step.next(stored)
        if (done === true) return
        stored = yield change(value)
        const noted = this.#noted(stored.map(({ event }) => event).filter(isTreeEvent), turn)
        if (noted.length > 0) yield noted
      }
    } finally {
      await step.return(undefined)
    }
  }

  /** Drafts that say what differs in these answers, beyond what was said before. */
  #noted(answers: readonly TreeEvent[], turn: Turn): Draft[] {
    const { replay: before } = turn.state()
    if (before === null) return []
    const found = this.#comparison.of(answers, new Set(before.noted))
    const [first] = found
    if (first === undefined) return []
    const after = told({
      ...before,
      divergences: before.divergences + found.length,
      first_divergence: before.first_divergence ?? first,
      noted: [...before.noted, ...found.map(({ index }) => index)],
    })
    if (!this.#stops || before.first_divergence !== null) return [after]
    const reason = 'the replay differs from the recording'
    return [
      after,
      { kind: 'StatusChangedEvent', source: 'environment', status: 'paused', reason },
      { kind: 'PauseEvent', source: 'environment' } as Draft,
    ]
  }

  /** A refusal comes from whoever refused in the recording; the inner agent only knows that something blocks the call. */
  #sourceOf(draft: Draft): Draft {
    if (draft.kind !== 'UserRejectObservation') return draft
    const refusal = this.#comparison.callAt(placeOf(draft.tool_call_id))?.refusal
    return refusal?.reason === draft.rejection_reason ? { ...draft, rejection_source: refusal.source } : draft
  }
}

const told = (value: ReplayProgress): Draft => ({
  kind: 'StateChangedEvent',
  source: 'environment',
  key: 'replay',
  value,
})

/**
 * Nothing was spent, so it is counted apart. As long as recorded turns are left, the answer counts as given before the newest
 * message was seen: that keeps the run going after a text or a finish (R4).
 */
function spent(draft: Draft, isLast: boolean): Draft {
  if (draft.kind !== 'UsageRecordedEvent') return draft
  const counted = { ...draft, usage_id: 'replay', model: 'replay', tokens: { ...draft.tokens, model: 'replay' } }
  return isLast ? counted : { ...counted, seen_seq: 0 }
}

/** Blocks the calls of an answer that were refused in the recording (R3), beside those that a hook blocks now. */
function refusals({ calls }: RecordedAnswer, drafts: readonly Draft[], turn: Turn): Draft[] {
  const reasons = new Map(
    calls.flatMap(({ index, refusal }) => (refusal === null ? [] : [[index, refusal.reason] as const])),
  )
  const blocked = drafts.flatMap((draft): [EventId, string][] => {
    if (draft.kind !== 'ActionEvent' || draft.action === null || draft.id === undefined) return []
    const reason = reasons.get(placeOf(draft.tool_call_id) ?? -1)
    return reason === undefined ? [] : [[draft.id, reason]]
  })
  if (blocked.length === 0) return []
  const newest = drafts.findLast((draft) => draft.kind === 'StateChangedEvent' && draft.key === 'blocked_actions')
  const known = newest?.kind === 'StateChangedEvent' ? (newest.value as object) : turn.state().blocked_actions
  const value = { ...known, ...Object.fromEntries(blocked) }
  return [{ kind: 'StateChangedEvent', source: 'environment', key: 'blocked_actions', value }]
}

/** The answers to the newest batch of calls. */
function newestAnswers(view: readonly TreeEvent[]): TreeEvent[] {
  const last = view.findLastIndex((event) => event.kind === 'ActionEvent')
  const batch = view[last]
  if (batch?.kind !== 'ActionEvent') return []
  const first = view.findIndex(
    (event) => event.kind === 'ActionEvent' && event.llm_response_id === batch.llm_response_id,
  )
  return view.slice(first)
}
