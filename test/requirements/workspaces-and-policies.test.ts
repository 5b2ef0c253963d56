import {
  BaseWorkspace,
  ConfirmationPolicy,
  HookConfig,
  needsConfirmation,
  SecretRegistry,
  SecurityRisk,
} from '@parley/protocol'
import { describe, expect } from 'vitest'
import { verifies } from '../verifies.ts'
import { expectDefaults, expectRefused, expectRequired, expectTypes } from './fields.ts'

const local = { kind: 'LocalWorkspace', working_dir: '/w' }
const remote = { kind: 'RemoteWorkspace', working_dir: '/w', host: 'http://h' }

describe('workspaces', () => {
  verifies(
    ['seed.workspace.kind', 'seed.workspace.local.kind', 'seed.workspace.remote.kind', 'seed.service.union-kind'],
    '`kind` selects the workspace and is one of two constants',
    () => {
      expect(BaseWorkspace.parse(local)).toEqual(local)
      expect(BaseWorkspace.parse(remote)).toMatchObject(remote)
      expectRefused(BaseWorkspace, remote, 'kind', 'Docker', 5)
    },
  )
  verifies(
    ['seed.workspace.local.working_dir.required', 'seed.workspace.local.working_dir.type'],
    'a local workspace has a working directory',
    () => {
      expectRequired(BaseWorkspace, local, 'working_dir')
      expectTypes(BaseWorkspace, { kind: 'LocalWorkspace' }, { working_dir: 'string' })
    },
  )
  verifies(
    [
      'seed.workspace.remote.working_dir.required',
      'seed.workspace.remote.host.required',
      'seed.workspace.remote.api_key.type',
      'seed.workspace.remote.read_timeout.type',
      'seed.workspace.remote.max_connections.type',
    ],
    'a remote workspace has a working directory, a host and optional limits',
    () => {
      expectRequired(BaseWorkspace, remote, 'working_dir', 'host')
      expectRefused(BaseWorkspace, remote, 'host', 5, null)
      expectTypes(BaseWorkspace, remote, {
        api_key: 'string or null',
        read_timeout: 'number',
        max_connections: 'integer or null',
      })
    },
  )
  verifies('seed.workspace.remote.read_timeout.default', 'a remote workspace waits 600 seconds by default', () =>
    expectDefaults(BaseWorkspace, remote, { read_timeout: 600, max_connections: null }),
  )
})

describe('confirmation policies', () => {
  const asks = (policy: object, risk: SecurityRisk) => needsConfirmation(ConfirmationPolicy.parse(policy), risk)

  verifies(
    ['seed.confirmation-policy.kind', 'seed.confirmation-policy.risk.levels'],
    '`kind` selects the confirmation policy, and there are four risks',
    () => {
      for (const kind of ['AlwaysConfirm', 'NeverConfirm', 'ConfirmRisky']) {
        expect(ConfirmationPolicy.parse({ kind }).kind).toBe(kind)
      }
      expectRefused(ConfirmationPolicy, {}, 'kind', 'Sometimes', 5)
      expect(SecurityRisk.options.toSorted()).toEqual(['HIGH', 'LOW', 'MEDIUM', 'UNKNOWN'])
    },
  )
  verifies('seed.confirmation-policy.always', 'AlwaysConfirm requires confirmation of every risk', () => {
    expect(SecurityRisk.options.every((risk) => asks({ kind: 'AlwaysConfirm' }, risk))).toBe(true)
  })
  verifies('seed.confirmation-policy.never', 'NeverConfirm requires confirmation of no risk', () => {
    expect(SecurityRisk.options.some((risk) => asks({ kind: 'NeverConfirm' }, risk))).toBe(false)
  })
  verifies(
    [
      'seed.confirmation-policy.risky.threshold.type',
      'seed.confirmation-policy.risky.threshold.default',
      'seed.confirmation-policy.risky.confirm_unknown.type',
      'seed.confirmation-policy.risky.confirm_unknown.default',
    ],
    'ConfirmRisky has the threshold HIGH and confirms UNKNOWN by default',
    () => {
      const risky = { kind: 'ConfirmRisky' }
      expectDefaults(ConfirmationPolicy, risky, { threshold: 'HIGH', confirm_unknown: true })
      expectTypes(ConfirmationPolicy, risky, { confirm_unknown: 'boolean' })
      for (const threshold of ['LOW', 'MEDIUM', 'HIGH']) {
        expect(ConfirmationPolicy.parse({ ...risky, threshold })).toMatchObject({ threshold })
      }
      expectRefused(ConfirmationPolicy, risky, 'threshold', 'SEVERE', 5, null)
    },
  )
  verifies(
    'seed.confirmation-policy.risky.unknown',
    'ConfirmRisky requires confirmation of UNKNOWN when confirm_unknown is true',
    () => {
      expect(asks({ kind: 'ConfirmRisky' }, 'UNKNOWN')).toBe(true)
      expect(asks({ kind: 'ConfirmRisky', confirm_unknown: false }, 'UNKNOWN')).toBe(false)
    },
  )
})

describe('HookConfig', () => {
  const matcher = { matcher: 'terminal', hooks: [{ command: 'true' }] }
  verifies(
    [
      'seed.hook-config.pre_tool_use',
      'seed.hook-config.post_tool_use',
      'seed.hook-config.user_prompt_submit',
      'seed.hook-config.session_start',
      'seed.hook-config.session_end',
      'seed.hook-config.stop',
      'seed.hook-config.matcher.type',
      'seed.hook-config.matcher.hooks',
    ],
    'a hook configuration has a list of matchers for each of six moments',
    () => {
      for (const moment of [
        'pre_tool_use',
        'post_tool_use',
        'user_prompt_submit',
        'session_start',
        'session_end',
        'stop',
      ]) {
        expect(HookConfig.parse({ [moment]: [matcher] })).toMatchObject({ [moment]: [matcher] })
        expectRefused(HookConfig, {}, moment, matcher, 'text', [5])
        expectRefused(HookConfig, {}, moment, [{ matcher: 5 }], [{ hooks: 'true' }])
      }
    },
  )
  verifies('seed.hook-config.closed', 'a hook configuration with another property is refused', () => {
    expectRefused(HookConfig, {}, 'before_lunch', [])
  })
  verifies('seed.hook-config.matcher.default', 'a hook matcher matches everything by default', () => {
    expect(HookConfig.parse({ stop: [{ hooks: [] }] }).stop[0]?.matcher).toBe('*')
  })
})

verifies(
  ['seed.secret-registry.secret_sources', 'seed.secret-registry.source.lookup', 'seed.secret-registry.source.static'],
  'a secret registry maps names to static secrets and lookup secrets',
  () => {
    const secret_sources = {
      A: { kind: 'StaticSecret', value: 'v' },
      B: { kind: 'LookupSecret', url: 'https://vault.example' },
    }
    expect(SecretRegistry.parse({ secret_sources })).toMatchObject({ secret_sources })
    expectRefused(
      SecretRegistry,
      {},
      'secret_sources',
      'text',
      { C: { kind: 'Rumour' } },
      { C: { kind: 'LookupSecret' } },
    )
  },
)
