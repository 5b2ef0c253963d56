import type { Event, ObservationEvent } from '@parley/protocol'

type Observation = ObservationEvent['observation']

/** Observations of tools that change no file of a workspace. The list of tasks is kept in the folder of the conversation. */
const READING: ReadonlySet<Observation['kind']> = new Set([
  'FinishObservation',
  'ThinkObservation',
  'TaskTrackerObservation',
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
      return !READING.has(event.observation.kind) && !isView(event.observation)
    case 'AgentErrorEvent':
    case 'ACPToolCallEvent':
    case 'HookExecutionEvent':
      return true
    default:
      return false
  }
}

const isView = (observation: Observation): boolean =>
  (observation.kind === 'FileEditorObservation' || observation.kind === 'PlanningFileEditorObservation') &&
  observation.command === 'view'
