import type { Plugin } from 'rolldown'

/** An import of a runtime module as the bundler writes it: names, or the whole module. */
const IMPORT = /^import (?:\{ (?<names>[^}]*) \}|(?:\* as )?(?<whole>[\w$]+)) from (?<source>"node:[\w/]+");$/gm

/**
 * Takes the modules of the runtime with `process.getBuiltinModule`. An import reads every property of such a module, and many of them load
 * a module of their own on first use: a start would load Web Crypto, MIME types and others that nothing uses.
 */
export const directBuiltins: Plugin = {
  name: 'parley-direct-builtins',
  renderChunk(code, chunk) {
    const direct = withDirectBuiltins(code)
    const left = /^(?:import|export) .*from "node:.*$/m.exec(direct)
    if (left !== null) this.error(`${chunk.fileName} still imports a module of the runtime: ${left[0]}`)
    return { code: direct }
  },
}

/** Returns the text of a module with constants in place of its imports of `node:` modules. */
export const withDirectBuiltins = (code: string): string =>
  code.replace(IMPORT, (_text, names: string | undefined, whole: string | undefined, source: string) => {
    const taken = `process.getBuiltinModule(${source});`
    if (whole !== undefined) return `const ${whole} = ${taken}`
    const members = (names ?? '').split(', ').map((name) => name.split(' as '))
    const wholes = members.flatMap(([name, local]) => (name === 'default' ? [`const ${local} = ${taken}`] : []))
    const parts = members.filter(([name]) => name !== 'default').map((name) => name.join(': '))
    return [...wholes, ...(parts.length === 0 ? [] : [`const { ${parts.join(', ')} } = ${taken}`])].join(' ')
  })
