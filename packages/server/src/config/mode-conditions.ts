/** What a server needs in a mode. Pure; the caller finds the facts. Source: docs/security.md, Modes. */
import type { Config } from './config.ts'
import { ConfigError } from './error.ts'
import { hasShortKey, MIN_KEY_CHARS } from './short-keys.ts'
import type { Mode } from './values.ts'

/** Facts about the machine and the account. */
export type Facts = {
  /** User id of the process; null: the system has none. */
  uid: number | null
  /** Why bubblewrap does not work here, and what the operator can do; null: it works. */
  withoutSandbox: { reason: string; remedy: string } | null
  /** Permission bits of the data directory; null: it does not exist, or the system has none. */
  dataDirMode: number | null
  /** The account that runner_user names, or why commands cannot run as it; null: the setting is not used. */
  runnerUser: { name: string; uid: number } | { says: string; remedy: string } | null
}

/** One condition. `says`: what was found. `remedy`: null when it is met. */
export type Condition = { name: string; says: string; remedy: string | null }

type Of = Pick<Config, 'allowRoot' | 'sandbox' | 'withoutKeys' | 'sessionApiKeys' | 'dataDir'>

/** Permissions of the group and of all other accounts. */
const OTHERS = 0o077
/** Permission of the group to enter. */
const ENTERED = 0o010

/** The conditions of a mode, each with what was found. */
export const conditionsOf = (mode: Mode, config: Of, facts: Facts): Condition[] => [
  account(config, facts),
  ...(facts.runnerUser === null ? [] : [accountOfCommands(facts.runnerUser)]),
  ...(mode === 'shared'
    ? [sandboxSetting(config), sandboxWorks(facts), keys(config), dataDirectory(config, facts)]
    : []),
]

/** @throws ConfigError naming the first condition that is not met, and its remedy. */
export function expectMet(conditions: readonly Condition[], mode: Mode): void {
  const failed = conditions.find(({ remedy }) => remedy !== null)
  if (failed === undefined) return
  throw new ConfigError(
    `the server does not start in the mode ${mode} (${failed.name}): ${failed.says}; ${failed.remedy}`,
  )
}

function accountOfCommands(found: NonNullable<Facts['runnerUser']>): Condition {
  const name = 'commands run as'
  return 'says' in found ? { name, ...found } : met(name, `${found.name} (user id ${found.uid})`)
}

function account({ allowRoot }: Of, { uid, runnerUser }: Facts): Condition {
  const name = 'account'
  if (uid === 0 && runnerUser !== null) return met(name, 'root, for which commands run as another account')
  if (uid !== 0) return met(name, uid === null ? 'no user ids on this system' : `user id ${uid}`)
  if (allowRoot) return met(name, 'root, which allow_root permits')
  return {
    name,
    says: 'it would run as root (user id 0), and so would commands of agents',
    remedy: 'start it as another user, or set PARLEY_ALLOW_ROOT=true (--allow-root), for example in a container',
  }
}

function sandboxSetting({ sandbox: { mode } }: Of): Condition {
  const name = 'sandbox setting'
  const says = `sandbox is ${mode}`
  if (mode === 'required') return met(name, says)
  return { name, says, remedy: 'set PARLEY_SANDBOX=required, or remove the setting' }
}

function sandboxWorks({ withoutSandbox }: Facts): Condition {
  const name = 'sandbox'
  if (withoutSandbox === null) return met(name, 'bubblewrap works')
  return { name, says: withoutSandbox.reason, remedy: withoutSandbox.remedy }
}

function keys(config: Of): Condition {
  const name = 'keys'
  if (config.withoutKeys)
    return {
      name,
      says: 'without_keys answers every request as one user',
      remedy: 'remove PARLEY_WITHOUT_KEYS (--without-keys)',
    }
  if (!hasShortKey(config)) return met(name, 'every request needs a key')
  return {
    name,
    says: `session_api_keys has a key with fewer than ${MIN_KEY_CHARS} characters, which can be guessed`,
    remedy: 'use a longer key, such as the output of: openssl rand -hex 32',
  }
}

function dataDirectory({ dataDir }: Of, { dataDirMode, runnerUser }: Facts): Condition {
  const name = 'data directory'
  if (dataDirMode === null) return met(name, `${dataDir} will be private`)
  const says = `${dataDir} has mode ${dataDirMode.toString(8)}`
  // The account of commands enters it, to reach its workspaces.
  const others = runnerUser === null ? OTHERS : OTHERS & ~ENTERED
  if ((dataDirMode & others) === 0) return met(name, says)
  return { name, says: `${says}, so other accounts of this machine can enter it`, remedy: `chmod 700 ${dataDir}` }
}

const met = (name: string, says: string): Condition => ({ name, says, remedy: null })
