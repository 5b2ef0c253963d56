/** Reader of the directories that requests may reach. Source: docs/security.md, Workspace roots. */
import { ConfigError } from './error.ts'
import { objectIn } from './objects.ts'
import { type Given, list, paths, type Reader } from './values.ts'
import type { ListedRoots } from '../workspace/index.ts'

/** Stands for every user. */
const EVERYONE = '*'

/** A list for every user, or an object of lists by user. */
export const workspaceRoots: Reader<ListedRoots> = {
  type: 'list of paths, or an object of such lists by user, `*` for every user',
  numbered: (env, name) => list.numbered?.(env, name) ?? [],
  read(given, home) {
    const perUser = objectIn(given, '{"ann": ["/srv/ann"]}')
    if (perUser === null) return { everyone: pathsIn(given, home), users: {} }
    const users = Object.entries(perUser).map(([user, value]): [string, string[]] => {
      if (user === '') throw new ConfigError(`${given.origin} has a user without a name; use "*" for every user`)
      return [user, pathsIn({ ...given, value, origin: `${given.origin}: ${user}` }, home)]
    })
    const { [EVERYONE]: everyone = [], ...others } = Object.fromEntries(users)
    return { everyone, users: others }
  },
}

const pathsIn = (given: Given, home: string): string[] => paths.read(given, home)
