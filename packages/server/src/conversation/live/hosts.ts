/** One conversation in memory as goal, titles, hooks and start need it. */
import { ParleyError, textContent } from '@parley/protocol'
import { readBranch } from '../branch/reader.ts'
import { GOAL_SENDER } from '../goal/goal.ts'
import type { GoalHost } from '../goal/rounds.ts'
import type { Hooked, HookedHost } from './hooked.ts'
import { isInterruption } from '../run/interruption.ts'
import type { Running } from '../run/running.ts'
import type { StartHost } from '../start/phases/index.ts'
import type { TitlingHost } from '../titles/titling.ts'
import type { Core } from './core.ts'

/** For its goal. */
export function goalHost({ id, owner, log, deps, mailbox, append }: Core, hooked: Hooked): GoalHost {
  return {
    state: () => log.state,
    branch: async () => {
      const path = await readBranch(deps.storage.events, id, log.state.leaf_event_id)
      return path.map(({ event }) => event).filter((event) => !Object.hasOwn(log.state.blocked_messages, event.id))
    },
    model: async () => (await deps.judgeModel?.(owner, log.record.agent)) ?? log.record.agent.llm,
    openLlm: deps.openLlm,
    submit: async (text, signal) =>
      hooked.looksAtMessages
        ? hooked.submit([textContent(text)], log.state.hook_config, signal, GOAL_SENDER)
        : undefined,
    commit: (drafts) => mailbox.run(() => append(drafts(log.state))),
    onFailure: (err) => deps.log.warn({ conversation_id: id, err }, 'a goal could not be judged'),
  }
}

/** For its title. */
export function titlingHost({ id, owner, log, deps, mailbox, errands, append, isClosed }: Core): TitlingHost {
  return {
    id,
    owner,
    events: deps.storage.events,
    errands,
    record: () => log.record,
    blocked: () => log.state.blocked_messages,
    inTurn: (work) => mailbox.run(work),
    store: async (drafts, title) => {
      const record = title === null ? undefined : { ...log.record, title }
      await append(drafts, record, record !== undefined)
      log.record = record ?? log.record
    },
    isLost: isClosed,
  }
}

/** For its hooks. Opening them throws ParleyError `unsupported` where none can run. */
export function hookedHost({ id, owner, epoch, log, deps }: Core): HookedHost {
  return {
    open: async () => {
      if (deps.openHooks === undefined)
        throw new ParleyError('unsupported', 'This conversation has hooks, and this server cannot run any.')
      const starting = { id, owner, epoch, record: log.record, current: () => log.record }
      return deps.openHooks(starting, new AbortController().signal)
    },
    state: () => log.state,
    record: () => log.record,
  }
}

/** For its start. */
export function startHost(core: Core, hooked: Hooked, running: Running): StartHost {
  const { id, owner, epoch, log, deps, mailbox, agent, append, isClosed } = core
  return {
    phases: deps.phases,
    agentDeadlineMs: deps.agentDeadlineMs,
    starting: () => ({ id, owner, epoch, record: log.record }),
    state: () => log.state,
    openAgent: () => agent.open(),
    beginSession: (signal) => hooked.begin(signal),
    submit: (...message) => hooked.submit(...message),
    inTurn: (work) => mailbox.run(work),
    append: async (drafts, change) => {
      const record = { ...log.record, ...change }
      await append(drafts, Object.keys(change).length === 0 ? undefined : record)
      log.record = record
    },
    startRun: () => running.start(),
    isCalledOff: (reason) => isInterruption(reason) && !isClosed(),
    isLost: isClosed,
    onFailure: (phase, code) => deps.log.warn({ conversation_id: id, phase, code }, 'a start failed'),
  }
}
