/**
 * Confirmation policies, which decide when a person is asked. Source: interface.md, Confirmation policies;
 * agent-server-wire.md 5.11.
 */
import { z } from 'zod'
import { unreachable } from './errors.ts'
import { laxBoolean } from './lax.ts'
import { valueError } from './lax-text.ts'
import { kindUnion } from './unions.ts'

export const SecurityRisk = z.enum(['UNKNOWN', 'LOW', 'MEDIUM', 'HIGH'])
/** Risk of one action. UNKNOWN is a valid result, never an error. */
export type SecurityRisk = z.infer<typeof SecurityRisk>

export const AlwaysConfirm = z.object({ kind: z.literal('AlwaysConfirm').default('AlwaysConfirm') })
export const NeverConfirm = z.object({ kind: z.literal('NeverConfirm').default('NeverConfirm') })
export const ConfirmRisky = z.object({
  kind: z.literal('ConfirmRisky').default('ConfirmRisky'),
  threshold: SecurityRisk.refine((risk) => risk !== 'UNKNOWN', valueError('Threshold cannot be UNKNOWN')).default(
    'HIGH',
  ),
  confirm_unknown: laxBoolean().default(true),
})

export const ConfirmationPolicy = kindUnion('ConfirmationPolicyBase', { AlwaysConfirm, NeverConfirm, ConfirmRisky })
export type ConfirmationPolicy = z.infer<typeof ConfirmationPolicy>
/** Input form: without defaults filled in. */
export type ConfirmationPolicyInput = z.input<typeof ConfirmationPolicy>

const RANK = { UNKNOWN: 0, LOW: 1, MEDIUM: 2, HIGH: 3 } satisfies Record<SecurityRisk, number>

/** Returns true when `policy` requires approval of an action of this `risk`. */
export function needsConfirmation(policy: ConfirmationPolicy, risk: SecurityRisk): boolean {
  switch (policy.kind) {
    case 'AlwaysConfirm':
      return true
    case 'NeverConfirm':
      return false
    case 'ConfirmRisky':
      return risk === 'UNKNOWN' ? policy.confirm_unknown : RANK[risk] >= RANK[policy.threshold]
    default:
      return unreachable(policy)
  }
}
