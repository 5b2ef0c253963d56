import type { SecurityRisk } from '../../../packages/protocol/src/index.ts'

/** A command and its risks by the pattern analyzer and the policy rails. */
export type Row = readonly [command: string, pattern: SecurityRisk, rails: SecurityRisk]
/** Rows by topic. */
export type Rows = Readonly<Record<string, readonly Row[]>>

/** Rows with the same risks for several commands. */
export const all = (pattern: SecurityRisk, rails: SecurityRisk, ...commands: readonly string[]): Row[] =>
  commands.map((command) => [command, pattern, rails])
