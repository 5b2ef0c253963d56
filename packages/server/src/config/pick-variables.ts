/**
 * The variables of an environment that a list names; a name that ends with `*` stands for all that begin like it.
 * @param withheld names that never pass
 */
export function pickVariables(
  env: Readonly<Record<string, string | undefined>>,
  names: readonly string[],
  withheld: (name: string) => boolean,
): Record<string, string> {
  const isNamed = (name: string) =>
    names.some((pattern) => (pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern))
  const picked = Object.entries(env).flatMap(([name, value]) =>
    value !== undefined && isNamed(name) && !withheld(name) ? [[name, value] as const] : [],
  )
  return Object.fromEntries(picked)
}
