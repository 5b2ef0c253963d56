/** Checks for `parley doctor`. */
export { findConditions } from './compose/mode.ts'
export { examineDatabase, probeDatabase, probeSqlite, storedUsers } from './storage/index.ts'
export { describeNetwork, findBubblewrap, probeProcessTracking, probeTerminal } from './workspace/index.ts'
