import type { Event } from '@parley/protocol'

/** Observations of tools that change no file of a workspace. */
const READING: ReadonlySet<string> = new Set([
  'FinishObservation',
  'ThinkObservation',
  'GrepObservation',
  'GlobObservation',
  'ListDirectoryObservation',
  'ReadFileObservation',
  'SwitchLLMObservation',
  'VisionInspectObservation',
])

/** True for an event that follows a program or a tool which may have changed files. */
export function mayHaveWritten(event: Event): boolean {
  switch (event.kind) {
    case 'ObservationEvent':
      return !READING.has(event.observation.kind)
    case 'AgentErrorEvent':
    case 'ACPToolCallEvent':
    case 'HookExecutionEvent':
      return true
    default:
      return false
  }
}
