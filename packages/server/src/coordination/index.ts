export type { Coordination, LiveNode, Owner, Topic } from './coordination.ts'
export { openLocalCoordination, type LocalCoordinationDeps } from './local.ts'
