/** Paths of routes: `{name}` stands for a variable part. */

export type RoutePath = {
  path: string
  /** The last variable part takes the rest of the path, slashes included. */
  takesRest?: boolean
}

const REST = /\{(\w+)\}$/

/** The path in the notation of the framework. */
export const urlOf = ({ path, takesRest }: RoutePath): string =>
  (takesRest === true ? path.replace(REST, '*') : path).replaceAll(/\{(\w+)\}/g, ':$1')

/** The variable parts of a request; the framework has its own name for the rest of a path. */
export function pathOf({ path, takesRest }: RoutePath, params: Record<string, string>): Record<string, string> {
  if (takesRest !== true) return params
  const { '*': rest = '', ...others } = params
  return { ...others, [REST.exec(path)![1]!]: rest }
}

/** The text before and after the first `at`. */
export function splitOnce(text: string, at: string): [string, string | undefined] {
  const index = text.indexOf(at)
  return index === -1 ? [text, undefined] : [text.slice(0, index), text.slice(index + 1)]
}

/** True when the route serves this path of a request. */
export function matches({ path: template, takesRest }: RoutePath, path: string): boolean {
  const wanted = template.split('/')
  const parts = path.split('/')
  const given = takesRest === true ? parts.slice(0, wanted.length) : parts
  return (
    wanted.length === given.length &&
    wanted.every((part, at) => (part.startsWith('{') ? given[at] !== '' || takesRest === true : part === given[at]))
  )
}
