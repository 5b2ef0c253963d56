/** Rules for `repository` and `selected_branch`: names that git refuses are refused before anything is stored. */
import { z } from 'zod'
import { MASK, refusedValue } from './lax-text.ts'
import { no, ok, scalar, type Read } from './lax.ts'

const MAX_LENGTH = 1024
/** One part of `owner/name`; hosts allow fewer characters. */
const SEGMENT = /^(?!\.{1,2}$)(?!-)[A-Za-z0-9._~+-]+$/

const NOT_A_NAME = refusedValue('repository must be owner/name, a path of groups and a name, or an http(s) address')
const HAS_CREDENTIAL = refusedValue(
  'repository must not hold a user name or password; store the token of the git provider instead',
)

/** `owner/name`, groups below groups, or an address without credentials, query or fragment. */
export function readRepositoryName(value: unknown): Read<string> {
  if (typeof value !== 'string') return no('string_type', 'Input should be a valid string')
  const name = value.trim()
  if (name === '') return ok('')
  if (name.length > MAX_LENGTH) return NOT_A_NAME
  return /^[A-Za-z][A-Za-z0-9+.-]*:/.test(name) ? readAddress(name) : isPath(name, 2) ? ok(name) : NOT_A_NAME
}

function readAddress(text: string): Read<string> {
  const url = URL.parse(text)
  if (url === null || (url.protocol !== 'https:' && url.protocol !== 'http:')) return NOT_A_NAME
  if (url.username !== '' || url.password !== '') return HAS_CREDENTIAL
  if (url.search !== '' || url.hash !== '') return NOT_A_NAME
  return isPath(url.pathname.replace(/^\/|\/$/g, ''), 1) ? ok(text) : NOT_A_NAME
}

function isPath(path: string, least: number): boolean {
  const segments = path.split('/')
  return segments.length >= least && segments.every((segment) => SEGMENT.test(segment) && segment !== '.git')
}

/** Source: the rules of `git check-ref-format`. A name that begins with a hyphen would be parsed as an option. */
const NEVER_IN_BRANCH = /^[-/.]|\/\.|\.\.|\/\/|@\{|[\p{Cc} ~^:?*[\\]|\.lock(?:\/|$)|[/.]$|^@$/u

/** Parses the name of a branch. */
export function readBranchName(value: unknown): Read<string> {
  if (typeof value !== 'string') return no('string_type', 'Input should be a valid string')
  if (value === '') return ok('')
  if (value.length > MAX_LENGTH || NEVER_IN_BRANCH.test(value))
    return refusedValue('selected_branch is not a name that a branch can have')
  return ok(value)
}

/**
 * Removes the part before the `@` of an address: a refused one may contain a token, and a refusal repeats its input.
 */
const withoutUserinfo = (value: unknown) =>
  typeof value === 'string' ? value.replace(/\/\/[^/]*@/, `//${MASK}@`) : value

/** Empty text counts as absent, as in other members of New Conversation. Source: conversation-service.md 1.1. */
export const repositoryName = (): z.ZodType<string, string> =>
  z.pipe(
    z.transform((value: unknown, ctx): string => {
      const got = value === undefined ? no('missing', 'Field required') : readRepositoryName(value)
      if (got.ok) return got.value
      const { type, msg, ctx: context } = got.refusal
      const params = context === undefined ? { type } : { type, ctx: context }
      ctx.addIssue({ code: 'custom', input: withoutUserinfo(value), message: msg, params })
      return z.NEVER
    }),
    z.string().meta({ maxLength: MAX_LENGTH }) as never,
  ) as unknown as z.ZodType<string, string>

/** Empty text counts as absent. */
export const branchName = () => scalar(readBranchName, z.string().meta({ maxLength: MAX_LENGTH }))
