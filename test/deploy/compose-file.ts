/** Compose files as their engine reads them: merged, with variables replaced. */
import { parse } from 'yaml'
import { readSource } from '../source-files.ts'

export type Service = {
  image?: string
  build?: string
  environment?: Record<string, string | number>
  healthcheck?: { test: string[] }
  stop_grace_period?: string
  ports?: string[]
  volumes?: string[]
  security_opt?: string[]
  cap_drop?: string[]
  init?: boolean
  depends_on?: string[] | Record<string, unknown>
}
export type ComposeFile = { services: Record<string, Service>; volumes: Record<string, unknown> }

const VARIABLE = /\$\{(\w+)(?::([?-])([^}]*))?\}/g

/** Reads a file; variables are replaced in the texts of the parsed file. @throws Error for a variable that the file requires and `env` lacks */
export function readCompose(file: string, env: Record<string, string>): ComposeFile {
  const replaced = (text: string) =>
    text.replaceAll(VARIABLE, (_, name: string, kind?: string, rest = '') => {
      const value = env[name] ?? ''
      if (value === '' && kind === '?') throw new Error(`required variable ${name} is missing a value: ${rest}`)
      return value === '' && kind === '-' ? rest : value
    })
  return parse(readSource(file), (_key, value: unknown) => (typeof value === 'string' ? replaced(value) : value), {
    merge: true,
  }) as ComposeFile
}

/** Names of the variables that a file requires. */
export const requiredIn = (file: string): string[] =>
  [
    ...new Set([...readSource(file).matchAll(VARIABLE)].filter(([, , kind]) => kind === '?').map(([, name]) => name!)),
  ].toSorted()

/** Seconds of a duration such as `45s`. */
export const secondsOf = (duration: string): number => Number(/^(\d+)s$/.exec(duration)![1])
