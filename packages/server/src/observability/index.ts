export { openLog, type Log, type LogLevel } from './log.ts'
