/** Recognises calls that only wait for a command. Pure. Source: agent-core.md 3.6. */
import type { ActionEvent, TreeEvent } from '@parley/protocol'

/** Least milliseconds of a call with `sleep` that counts as waiting; a shorter one is a step like any other. */
const LEAST_SLEEP_MS = 20_000
const SLEEPS = /\bsleep +\d/

/**
 * True for a call that waited: an empty command while another one runs, or a command with `sleep` that took at least 20 seconds.
 * @param answer the result of the action
 */
export function isWait({ action, timestamp }: ActionEvent, answer: TreeEvent): boolean {
  if (action?.kind !== 'TerminalAction' || answer.kind !== 'ObservationEvent') return false
  const { observation } = answer
  if (observation.kind !== 'TerminalObservation' || observation.is_error) return false
  if (action.is_input || action.reset) return false
  if (action.command.trim() === '') return true
  return SLEEPS.test(action.command) && timeOf(answer.timestamp) - timeOf(timestamp) >= LEAST_SLEEP_MS
}

/**
 * Returns the milliseconds that the agent has waited without news when the events end: from its first call that waited to the newest
 * result. The time starts again with another call, with other output, and with a message of a person.
 */
export function waitedMs(events: readonly TreeEvent[]): number {
  const answers = new Map<string, TreeEvent>()
  let output: string | null = null
  let began = 0
  let ended = 0
  for (let at = events.length - 1; at >= 0; at--) {
    const event = events[at]!
    if (event.kind === 'AgentErrorEvent' || (event.kind === 'MessageEvent' && event.source === 'user')) break
    if (event.kind === 'ObservationEvent') {
      const printed = JSON.stringify(event.observation.content)
      if (printed !== (output ??= printed)) break
      answers.set(event.action_id, event)
      ended ||= timeOf(event.timestamp)
    }
    if (event.kind !== 'ActionEvent') continue
    const answer = answers.get(event.id)
    if (answer === undefined || !isWait(event, answer)) break
    began = timeOf(event.timestamp)
  }
  return began === 0 ? 0 : ended - began
}

/** Time stamps of events are in UTC without an offset. */
const timeOf = (timestamp: string): number => Date.parse(`${timestamp}Z`)
