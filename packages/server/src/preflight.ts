/** Checks for `parley doctor`. */
export { probeSqlite } from './storage/index.ts'
export { describeNetwork, findBubblewrap, probeProcessTracking, probeTerminal } from './workspace/index.ts'
