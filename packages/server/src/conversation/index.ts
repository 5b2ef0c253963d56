export type {
  Actor,
  Command,
  ConversationSearch,
  Conversations,
  EventSearch,
  ForkRequest,
  StartRequest,
  Watcher,
  WatchItem,
} from './conversations.ts'
export {
  DEFAULT_DEADLINES,
  PHASES,
  START_TIMEOUT,
  StartFailure,
  startPhases,
  type Phase,
  type PhaseDeadlines,
  type StartSources,
} from './start/phases/index.ts'
export { runEnd, type RunEnd } from './run/run-end.ts'
export type { RunObserver } from './run/running.ts'
export type { OpenHooks } from './live/hooked.ts'
export { openHeart, type Heart, type HeartDeps } from './open.ts'
export { definitionsIn, readDefinition, type Parent } from './sub-agents/index.ts'
export { withReceived, type ReceivedDeps, type Receiver } from './received.ts'
export {
  remoteOf,
  type AttachedPlugin,
  type ConversationRecord,
  type LoadedKnowledge,
  type SecretSources,
} from './record/record.ts'
export { fromAgentServer, type Resolved as LaunchResolution } from './start/from-agent-server.ts'
export { fromSeed, type SeedDefaults, type SeedOptions } from './start/from-seed.ts'
export { archiveOf, type Archive } from './trajectory/archive.ts'
export { trajectoryOf, type Trajectory, type TrajectoryFormat } from './trajectory/export.ts'
export { readBranch } from './branch/reader.ts'
export { readRecording } from './trajectory/recordings.ts'
