import { HookConfig, needsConfirmation, type ConfirmationPolicy } from '@parley/protocol'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { hooksBelow, policyBelow, tighten } from './guard.ts'

const RISKS = ['UNKNOWN', 'LOW', 'MEDIUM', 'HIGH'] as const
const policies = fc.oneof(
  fc.constantFrom<ConfirmationPolicy>({ kind: 'AlwaysConfirm' }, { kind: 'NeverConfirm' }),
  fc.record({
    kind: fc.constant('ConfirmRisky' as const),
    threshold: fc.constantFrom('LOW' as const, 'MEDIUM' as const, 'HIGH' as const),
    confirm_unknown: fc.boolean(),
  }),
)

test('a tightened policy asks whenever one of the two would', () => {
  fc.assert(
    fc.property(policies, policies, fc.constantFrom(...RISKS), (one, other, risk) => {
      const asks = needsConfirmation(one, risk) || needsConfirmation(other, risk)
      expect(needsConfirmation(tighten(one, other), risk)).toBe(asks)
    }),
  )
})

test("a permission mode never loosens the parent's policy (F09)", () => {
  fc.assert(
    fc.property(
      policies,
      fc.constantFrom(null, 'always_confirm', 'never_confirm', 'confirm_risky'),
      fc.constantFrom(...RISKS),
      (parent, mode, risk) => {
        if (needsConfirmation(parent, risk)) expect(needsConfirmation(policyBelow(parent, mode), risk)).toBe(true)
      },
    ),
  )
  expect(() => policyBelow({ kind: 'NeverConfirm' }, 'sometimes')).toThrow('There are: always_confirm')
})

test('hooks for messages and tool calls are inherited, session hooks are not', () => {
  const hook = (command: string) => [{ matcher: '*', hooks: [{ command }] }]
  const parent = HookConfig.parse({ pre_tool_use: hook('guard'), stop: hook('end'), session_start: hook('begin') })
  const own = HookConfig.parse({ pre_tool_use: hook('own'), stop: hook('own end') })
  const below = hooksBelow(parent, own)!
  expect(below.pre_tool_use.flatMap(({ hooks }) => hooks.map(({ command }) => command))).toEqual(['guard', 'own'])
  expect(below.stop.flatMap(({ hooks }) => hooks.map(({ command }) => command))).toEqual(['own end'])
  expect(below.session_start).toEqual([])
  expect(hooksBelow(null, own)).toEqual(own)
})
