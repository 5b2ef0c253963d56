import { expect, test } from 'vitest'
import { PROVIDERS } from '../providers.ts'
import { wantedMode } from './modes.ts'

const provider = (key: string) => PROVIDERS.find((each) => each.key === key)!

const modes = (available: string[] | null) => ({ current: null, available })
const asks = { kind: 'AlwaysConfirm' } as const
const free = { kind: 'NeverConfirm' } as const

test.each([
  [null, free, 'codex', ['full-access', 'read-only'], { id: 'full-access', isRequired: false }],
  [null, asks, 'codex', ['full-access', 'read-only'], { id: 'read-only', isRequired: true }],
  [null, free, 'codex', ['auto'], null],
  [null, asks, undefined, null, null],
  ['plan', asks, 'claude-code', null, { id: 'plan', isRequired: true }],
  ['bypassPermissions', free, 'claude-code', null, { id: 'bypassPermissions', isRequired: true }],
] as const)(
  'the mode for acp_session_mode %s, policy %o and provider %s, of %o, is %o',
  (named, policy, key, available, expected) => {
    expect(
      wantedMode(
        named,
        policy,
        key === undefined ? null : provider(key),
        modes(available === null ? null : [...available]),
      ),
    ).toEqual(expected)
  },
)

test.each([
  ['bypassPermissions', 'claude-code', null],
  [null, 'codex', ['agent-full-access']],
])(
  'acp_session_mode %s of %s is refused when the policy asks, because the agent would not',
  (named, key, available) => {
    expect(() => wantedMode(named, asks, provider(key), modes(available))).toThrow(/policy is AlwaysConfirm/)
  },
)
