export type { Coordination, Owner } from './coordination.ts'
export { LiveNodes } from './live-nodes.ts'
export { openLocalCoordination } from './local.ts'
export { openSharedCoordination } from './shared.ts'
