export { Startup, type StartupDeps } from './startup.ts'
export { PHASES, type Phase, type PhaseDeadlines } from './phase.ts'
export { phaseEvent } from './run-phases.ts'
export { startPhases, type StartSources } from './repository-phases.ts'
