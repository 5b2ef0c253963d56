import type { Draft } from '@parley/protocol'
import { textContent } from '@parley/protocol'
import { decide, opensBranch, type Decidable, type Decision } from '../commands.ts'
import type { FileCheckpoints } from '../checkpoints/file-checkpoints.ts'
import type { Actor, Command } from '../conversations.ts'
import { GOAL_SENDER, goalText, type GoalCommand } from '../goal/goal.ts'
import { RunCancelled } from '../interruption.ts'
import type { LiveActions, LiveReader } from '../live-access.ts'
import { isReady } from '../record/start-status.ts'
import type { CondensationRequest } from '../run/condensation-request.ts'
import type { Running } from '../run/running.ts'
import type { Startup } from '../start/phases/index.ts'
import type { Submission } from '../submission.ts'
import type { Reminder } from '../watch/reminder.ts'
import { approvalsOf } from './approvals.ts'
import type { Changes } from './changes.ts'
import type { LiveDeps } from './deps.ts'
import { Edits } from './edits.ts'
import type { Ending } from './ending.ts'
import type { MessageIntake, OutgoingMessage } from './message-intake.ts'
import { expectAtRest, expectLeaf, seqOf, targetOf } from './navigation.ts'

/** Longest wait, in milliseconds, for MCP tools before the first message of a branch. Tools that arrive later are added later. */
const PREPARE_MS = 10_000

/** The handling of one kind of command. The steps run in this order. */
export type CommandHandler<C extends Command> = {
  /** Waits for what the command depends on, or refuses it; outside of a turn. */
  prepare?: (command: C) => Promise<unknown>
  /** The message that hooks inspect before the command is applied. */
  message?: (command: C) => OutgoingMessage
  /** Resolves when the effect of the command is durable. `submission`: the message after the hooks ran; absent without hooks. */
  apply: (command: C, actor: Actor, submission?: Submission) => Promise<unknown>
}

export type CommandHandlers = {
  readonly [K in Command['kind']]: CommandHandler<Extract<Command, { kind: K }>>
}

/** The parts of a conversation that its commands act on. */
export type CommandParts = {
  startup: Startup
  running: Running
  ending: Ending
  changes: Changes
  files: FileCheckpoints
  intake: MessageIntake
  condensation: CondensationRequest
  reminder: Reminder
}

/** One row for each kind of command. */
export function commandHandlers(
  live: LiveReader & LiveActions,
  parts: CommandParts,
  deps: Pick<LiveDeps, 'judgeModel' | 'storage' | 'shownBatches'>,
): CommandHandlers {
  const { startup, running, ending, changes, files, intake, condensation, reminder } = parts
  const { owner, state, record, inTurn, startRun, emitSnapshot } = live
  const edits = new Edits(live, parts, deps)

  // Only in a turn: commits the drafts of a command.
  const commit = async (command: Decidable, actor: Actor, submission?: Submission): Promise<Decision> => {
    const preamble: readonly Draft[] = isOpening(live, command) ? (await live.openAgent()).preamble(state()) : []
    const approvals = await approvalsOf(live, actor, { events: deps.storage.events, shownBatches: deps.shownBatches })
    const decision = decide(state(), command, approvals, preamble, submission)
    await live.append(decision.drafts)
    return decision
  }
  const follow = ({ runs, snapshot }: Decision): void => {
    if (runs) startRun()
    if (snapshot) emitSnapshot()
  }
  const decided: CommandHandler<Extract<Decidable, Command>> = {
    async apply(command, actor, submission) {
      await prepareOpening(live, command)
      await inTurn(async () => follow(await commit(command, actor, submission)))
    },
  }
  const goal: CommandHandler<Exclude<GoalCommand, { kind: 'stop_goal' }>> = {
    async prepare() {
      await startup.ready()
      await deps.judgeModel(owner, record().agent)
    },
    message: (command) => ({ content: [textContent(goalText(state(), command))], sender: GOAL_SENDER }),
    async apply(command, actor, submission) {
      await startup.ready()
      await decided.apply(command, actor, submission)
    },
  }

  return {
    send_message: {
      prepare: (command) => edits.expectPossible(command),
      message: ({ content, event_id, message_id: id = event_id }) => ({ content, sender: null, id }),
      async apply(command, actor, submission) {
        await prepareOpening(live, command)
        await inTurn(async () => {
          if (command.parent_event_id !== undefined) edits.expectReady()
          if (!isReady(state())) return intake.keepForLater(command)
          const decision = await (command.parent_event_id === undefined
            ? commit(command, actor, submission)
            : edits.commit(command, actor, submission))
          if (decision.runs && running.isActive) (await live.currentAgent())?.onUserMessage?.()
          follow(decision)
        })
      },
    },
    run: {
      async apply(command, actor) {
        await prepareOpening(live, command)
        await inTurn(async () => {
          const decision = await commit(command, actor)
          follow(decision)
          if (!decision.runs) reminder.ended(performance.now())
        })
      },
    },
    navigate: {
      prepare: () => expectAtRest(live, running, condensation),
      apply: (command, actor) =>
        inTurn(async () => {
          const { event_id, restore_files = false } = command
          expectLeaf(state(), command)
          const target = await targetOf(event_id, live, deps.storage.events)
          const tree = restore_files ? await files.restore(await seqOf(event_id, live.id, deps.storage.events)) : null
          const decision = await commit(target, actor)
          if (tree !== null) await files.restored(tree)
          follow(decision)
        }),
    },
    condense: {
      // The loop serves the request between two steps. Without a run the loop starts for it alone, and changes no status.
      async apply() {
        startup.expectNotStopped()
        if (live.isClosed()) throw new RunCancelled('lost')
        const condensed = condensation.open(record())
        startRun()
        return condensed
      },
    },
    pause: decided,
    respond: decided,
    set_confirmation_policy: decided,
    set_security_analyzer: decided,
    start_goal: goal,
    resume_goal: goal,
    stop_goal: decided,
    interrupt: { apply: () => ending.interrupt() },
    stop: { apply: () => ending.stop() },
    start: { prepare: () => ending.released(), apply: () => startup.again() },
    switch_llm: { apply: ({ llm }) => changes.switchLlm(llm) },
    switch_acp_model: { apply: ({ model }) => changes.switchAcpModel(model) },
    set_secrets: { apply: ({ secrets }) => changes.setSecrets(secrets) },
    client_result: { apply: (command) => changes.takeResult(command) },
  }
}

/** True when this command begins the branch. Before the end of the start the start itself opens the agent. */
const isOpening = ({ state }: LiveReader, command: Pick<Command, 'kind'>): boolean =>
  isReady(state()) && opensBranch(command, state())

async function prepareOpening(live: LiveReader & LiveActions, command: Command): Promise<void> {
  if (isOpening(live, command)) await (await live.openAgent()).prepare?.(AbortSignal.timeout(PREPARE_MS))
}
