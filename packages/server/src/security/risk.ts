/** The order of risks, in which UNKNOWN has no place. Source: agent-core.md 4.1. */
import type { SecurityRisk } from '@parley/protocol'

export type ConcreteRisk = Exclude<SecurityRisk, 'UNKNOWN'>
export const RISK_ORDER = { LOW: 0, MEDIUM: 1, HIGH: 2 } satisfies Record<ConcreteRisk, number>

/**
 * True when `a` is at least as risky as `b`; with `strict`, more.
 * @throws RangeError when one of them is UNKNOWN, which cannot be compared, not even with itself.
 */
export function isRiskier(a: SecurityRisk, b: SecurityRisk, { strict = false }: { strict?: boolean } = {}): boolean {
  if (a === 'UNKNOWN' || b === 'UNKNOWN')
    throw new RangeError('an UNKNOWN risk is neither higher nor lower than another')
  return strict ? RISK_ORDER[a] > RISK_ORDER[b] : RISK_ORDER[a] >= RISK_ORDER[b]
}
