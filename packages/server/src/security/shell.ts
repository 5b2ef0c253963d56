/** Shell text as the commands that it would run. Source: agent-core.md 4.6, shell structure scan. */
export { UNKNOWN } from './shell/knowledge.ts'
export { readShell } from './shell/reader.ts'
export type { ShellCommand, ShellDanger, ShellScan } from './shell/scan.ts'
