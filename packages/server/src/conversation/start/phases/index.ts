export { Startup, type StartHost } from './startup.ts'
export {
  DEFAULT_DEADLINES,
  PHASES,
  START_TIMEOUT,
  StartFailure,
  STOPPED,
  type Phase,
  type PhaseDeadlines,
  type PhaseName,
  type Starting,
} from './phase.ts'
export { phaseEvent, runPhases } from './run-phases.ts'
export { startPhases, type StartSources } from './repository-phases.ts'
export { columnStatus, conversationProgress, conversationStatus, hasToStartAgain, isReady } from './standing.ts'
