/** Reader of the limits of users. Source: docs/quotas.md. */
import { ConfigError } from './error.ts'
import type { Given, Reader } from './values.ts'
import { objectIn } from './objects.ts'
import { LIMITS, type ListedLimits, type UserLimits } from '../quotas/index.ts'

/** Stands for every user. */
const EVERYONE = '*'
const EXAMPLE = '{"*": {"runs": 8}, "ann": {"runs": 0}}'

/** An object of limits by user. */
export const userLimits: Reader<ListedLimits> = {
  type: 'object of limits by user, `*` for every user',
  read(given) {
    const perUser = objectIn(given, EXAMPLE)
    if (perUser === null) throw new ConfigError(`${given.origin} must be an object such as ${EXAMPLE}`)
    const users = Object.entries(perUser).map(([user, value]): [string, Partial<UserLimits>] => {
      if (user === '') throw new ConfigError(`${given.origin} has a user without a name; use "*" for every user`)
      return [user, limitsIn({ ...given, value, origin: `${given.origin}: ${user}` })]
    })
    const everyone = users.find(([user]) => user === EVERYONE)?.[1] ?? {}
    return { everyone, users: new Map(users.filter(([user]) => user !== EVERYONE)) }
  },
}

function limitsIn(given: Given): Partial<UserLimits> {
  const members = objectIn(given, '{"runs": 8}')
  if (members === null) throw new ConfigError(`${given.origin} must be an object such as {"runs": 8}`)
  for (const [name, value] of Object.entries(members)) {
    if (!Object.hasOwn(LIMITS, name))
      throw new ConfigError(
        `${given.origin} has an unknown limit "${name}"; known are ${Object.keys(LIMITS).join(', ')}`,
      )
    const isWhole = name.endsWith('_usd') || Number.isInteger(value)
    if (typeof value !== 'number' || !Number.isFinite(value) || value < 0 || !isWhole)
      throw new ConfigError(
        `${given.origin}: ${name} must be a number from 0, where 0 is no limit, not ${JSON.stringify(value)}`,
      )
  }
  return members as Partial<UserLimits>
}

/** As it is written in a configuration file. */
export function printedLimits({ everyone, users }: ListedLimits): string | null {
  if (Object.keys(everyone).length === 0 && users.size === 0) return null
  return JSON.stringify({ [EVERYONE]: everyone, ...Object.fromEntries(users) })
}
