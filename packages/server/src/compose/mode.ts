/** Finds the facts that the conditions of a mode are about. */
import { stat } from 'node:fs/promises'
import { conditionsOf, expectMet, type Condition, type Config, type Facts, type Mode } from '../config/index.ts'
import { findBubblewrap, usableAccount, type UsableAccount } from '../workspace/index.ts'

/** The conditions of a mode on this machine. `path`: the folders that bubblewrap is searched in; default: those of this process. */
export async function findConditions(mode: Mode, config: Config, path?: string): Promise<Condition[]> {
  const usable = await accountOf(config)
  const account = usable === null || 'says' in usable ? null : usable
  // Bubblewrap is tested by running it, so only where it is a condition.
  const found = mode === 'shared' ? await findBubblewrap(path, account) : null
  const facts: Facts = {
    uid: process.getuid?.() ?? null,
    withoutSandbox: found !== null && 'reason' in found ? found : null,
    dataDirMode: await modeOf(config.dataDir),
    runnerUser: usable,
  }
  return conditionsOf(mode, config, facts)
}

/** @throws ConfigError naming the condition that the server does not meet, and its remedy. */
export async function expectConditions(config: Config): Promise<void> {
  expectMet(await findConditions(config.mode, config), config.mode)
}

/** The account that commands run as, or why they cannot; null: that of this process. */
export const accountOf = async ({ runnerUser, ...config }: Config): Promise<UsableAccount | null> =>
  runnerUser === null ? null : usableAccount({ ...config, runnerUser, setup: config.shell.setup })

async function modeOf(directory: string): Promise<number | null> {
  const found = process.platform === 'win32' ? null : await stat(directory).catch(() => null)
  return found === null ? null : found.mode & 0o777
}
