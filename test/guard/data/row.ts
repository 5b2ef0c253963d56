import type { SecurityRisk } from '../../../packages/protocol/src/index.ts'

/** A command and what the pattern analyzer and the policy rails say of it. */
export type Row = readonly [command: string, pattern: SecurityRisk, rails: SecurityRisk]
/** Rows by what they show. */
export type Rows = Readonly<Record<string, readonly Row[]>>

/** The same verdict for several commands. */
export const all = (pattern: SecurityRisk, rails: SecurityRisk, ...commands: readonly string[]): Row[] =>
  commands.map((command) => [command, pattern, rails])
