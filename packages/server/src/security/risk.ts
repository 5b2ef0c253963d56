/** The order of risks. UNKNOWN has no place in it. Source: agent-core.md 4.1. */
import type { SecurityRisk } from '@parley/protocol'

export type ConcreteRisk = Exclude<SecurityRisk, 'UNKNOWN'>
export const RISK_ORDER = { LOW: 0, MEDIUM: 1, HIGH: 2 } satisfies Record<ConcreteRisk, number>

/**
 * Whether `a` is at least as risky as `b`; with `strict`, more.
 * @throws RangeError when one of them is UNKNOWN: what isn't known can't be compared, not even with itself.
 */
export function isRiskier(a: SecurityRisk, b: SecurityRisk, { strict = false }: { strict?: boolean } = {}): boolean {
  if (a === 'UNKNOWN' || b === 'UNKNOWN')
    throw new RangeError('an UNKNOWN risk is neither higher nor lower than another')
  return strict ? RISK_ORDER[a] > RISK_ORDER[b] : RISK_ORDER[a] >= RISK_ORDER[b]
}
