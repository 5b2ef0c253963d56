export type { Coordination, LiveNode, Owner, Topic } from './coordination.ts'
export { LiveNodes } from './live-nodes.ts'
export { openLocalCoordination, type LocalCoordinationDeps } from './local.ts'
export { openSharedCoordination, type SharedCoordinationDeps } from './shared.ts'
