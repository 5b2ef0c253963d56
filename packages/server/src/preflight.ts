/** What `parley doctor` asks of the rooms that know. */
export { probeSqlite } from './storage/index.ts'
export { describeNetwork, findBubblewrap, probeTerminal } from './workspace/index.ts'
