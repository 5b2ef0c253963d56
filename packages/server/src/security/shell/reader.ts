/**
 * Reads shell text without running it and tells which commands it would run, whatever they hide behind.
 *
 * Invariants
 *   R1. Total and bounded: no input throws, none takes longer than its budget; what was not followed makes it uncertain.
 *   R2. Branches are all read, one after the other, as if every one were taken.
 */
import type { ShellCommand, ShellDanger, ShellScan } from './scan.ts'
import { forEachChild, parse, type Command, type ParsedScript, type Redirection, type SyntaxNode } from 'unbash'
import { DECODED, FETCHED, Knowledge, known, TooMuch, UNKNOWN } from './knowledge.ts'
import { isFetcher, outputOf } from './outputs.ts'
import { foundCommands, xargsCommands } from './found.ts'
import { INTERPRETERS, programOperand, SHELLS, shellOperand, unwrap } from './runners.ts'
import { assignments, downloadTarget, isForkBomb, isTooNested, nameOf, positions, quote } from './shapes.ts'
import { textsRunBy } from './texts.ts'
import { expand, expandParts, expandText, type Expansion } from './words.ts'

/** Shell texts within shell texts that are followed. Source: agent-core.md 4.6, structure scan 4. */
const MAX_DEPTH = 8
const MAX_COMMANDS = 1200
/** Values of a loop that are followed. */
const MAX_ROUNDS = 16

type Context = {
  depth: number
  /** What comes to the standard input. */
  input: string
  /** Where the parser found errors, in the text that is being read. */
  errors: readonly number[]
  isElevated: boolean
}

/** Reads one text. `text` should be normalised. */
export function readShell(text: string): ShellScan {
  const reader = new Reader()
  reader.start(text)
  const { commands, dangers, isUncertain, isPartial } = reader
  return { commands, dangers, isUncertain, isPartial }
}

class Reader {
  readonly commands: ShellCommand[] = []
  readonly dangers = new Set<ShellDanger>()
  isUncertain = false
  isPartial = false
  readonly #shell = new Knowledge()
  readonly #functions = new Map<string, SyntaxNode>()
  #processFiles = 0

  start(text: string): void {
    try {
      this.#script(text, { depth: 0, input: '', errors: [], isElevated: false })
    } catch (error) {
      // A text that is too much for the reader is one that nobody has looked at. So is one the parser chokes on.
      this.isUncertain = true
      this.isPartial = true
      if (!(error instanceof TooMuch || error instanceof RangeError)) throw error
    }
  }

  /** Reads a text as a script; what it writes, as far as it is known. */
  #script(text: string, context: Context): string {
    if (context.depth > MAX_DEPTH) {
      this.isUncertain = true
      return UNKNOWN
    }
    if (isTooNested(text)) throw new TooMuch('the text is nested too deep')
    this.#shell.step(1 + text.length / 100)
    const script = parse(text)
    return this.#parsed(script, { ...context, errors: positions(script) })
  }

  #parsed(script: ParsedScript | undefined, context: Context): string {
    return (script?.commands ?? []).map((statement) => this.#node(statement, context)).join('')
  }

  #node(node: SyntaxNode, context: Context): string {
    this.#shell.step()
    switch (node.type) {
      case 'Command':
        return this.#command(node, context)
      case 'Pipeline': {
        let input = context.input
        for (const command of node.commands) input = this.#node(command, { ...context, input })
        return input
      }
      case 'Redirected': {
        const { input, writes } = this.#redirects(node.redirects, context)
        const output = this.#node(node.command, { ...context, input: input ?? context.input })
        for (const path of writes) this.#shell.write(path, output)
        if (writes.length > 0) this.#record({ name: '', args: [], writes, isBroken: false }, context)
        return output
      }
      case 'Function': {
        if (isForkBomb(node.name.value, node.body)) this.dangers.add('fork-bomb')
        this.#shell.functionDepth++
        this.#node(node.body, { ...context, input: '' })
        this.#shell.functionDepth--
        this.#functions.set(node.name.value, node.body)
        return ''
      }
      case 'For': {
        const values = (node.wordlist ?? []).flatMap((word) => expand(word, this.#expansion(context)))
        let output = ''
        for (const value of values.length === 0 ? [UNKNOWN] : values.slice(0, MAX_ROUNDS)) {
          this.#shell.set(node.name.value, value)
          output += this.#node(node.body, context)
        }
        return output
      }
      case 'Word':
        // Words that are no part of a command are expanded all the same, and what they substitute is run.
        expand(node, this.#expansion(context))
        return ''
      default: {
        let output = ''
        forEachChild(node, (child) => {
          output += this.#node(child, context)
        })
        return output
      }
    }
  }

  #command(node: Command, outer: Context): string {
    const { input, writes } = this.#redirects(node.redirects, outer)
    const context = { ...outer, input: input ?? outer.input }
    const at = this.#expansion(context)
    for (const item of node.prefix) if (item.type === 'Assignment') this.#assign(item, at)
    const isBroken = context.errors.some((position) => position >= node.pos && position <= node.end)
    if (node.name === undefined) {
      if (writes.length > 0 || node.prefix.length > 0)
        this.#record({ name: '', args: assignments(node), writes, isBroken }, context)
      return ''
    }
    const words = expand(node.name, at)
    const alias = node.name.parts === undefined ? this.#shell.aliases.get(node.name.text) : undefined
    for (const argument of node.args) {
      if (argument.type === 'Word') words.push(...expand(argument, at))
      else words.push(`${argument.name}=${this.#assign(argument, at)}`)
    }
    const output =
      alias === undefined
        ? this.#run(words, writes, isBroken, context)
        : this.#script([alias, ...words.slice(1).map(quote)].join(' '), { ...context, depth: context.depth + 1 })
    for (const path of writes) this.#shell.write(path, output)
    return writes.length > 0 ? '' : output
  }

  /** One command with all its words known as far as they can be; what it writes. */
  #run(words: readonly string[], writes: readonly string[], isBroken: boolean, context: Context): string {
    this.#shell.step(1 + words.length / 10)
    const [first = '', ...args] = words
    const name = nameOf(first)
    const inner = unwrap(name, words)
    if (inner !== null) {
      for (const [variable, value] of inner.assignments) this.#shell.set(variable, value)
      const within = { ...context, isElevated: context.isElevated || inner.isElevated }
      // What stands in `find`'s place of a command is a command; what follows `time` or `env` may be none.
      if (inner.words.length > 0) return this.#run(inner.words, writes, isBroken, within)
      this.#record({ name, args, writes, isBroken }, within)
      return inner.script === null ? '' : this.#within(inner.script, within, isBroken)
    }
    this.#record({ name: known(name) === '' ? null : name, args, writes, isBroken }, context)
    if (first.includes(FETCHED)) this.dangers.add('fetch-to-exec')
    if (first.includes(DECODED)) this.isUncertain = true
    if (SHELLS.has(name)) return this.#shellOf(words, isBroken, context)
    if (INTERPRETERS.test(name)) this.#interpreter(args, context)
    const texts = textsRunBy(name, args, context.input).filter((text) => text !== '')
    if (texts.length > 0) return texts.map((text) => this.#within(text, { ...context, input: '' }, isBroken)).join('')
    const made = first.includes('/') ? this.#shell.read(first) : null
    if (made !== null) {
      this.#positional(words)
      return this.#within(made, context, isBroken)
    }
    return (
      this.#called(first, args, context) ??
      this.#builtin(name, args, isBroken, context) ??
      this.#other(name, args, context)
    )
  }

  /** A call of a function of this text, with what it is given. */
  #called(name: string, args: readonly string[], context: Context): string | null {
    const body = this.#functions.get(name)
    if (body === undefined) return null
    // A function that calls itself is read once.
    this.#functions.delete(name)
    this.#positional([name, ...args])
    const output = this.#node(body, { ...context, errors: [] })
    this.#functions.set(name, body)
    return output
  }

  /** `$0`, `$1` and so on. */
  #positional(words: readonly string[]): void {
    for (const [index, word] of words.slice(0, 10).entries()) this.#shell.set(String(index), word)
    for (const all of ['@', '*']) this.#shell.set(all, words.slice(1).join(' '))
  }

  #builtin(name: string, args: readonly string[], isBroken: boolean, context: Context): string | null {
    switch (name) {
      case 'source':
      case '.':
        return this.#within(this.#content(args[0]), context, isBroken)
      case 'xargs':
      case 'parallel':
        for (const command of xargsCommands([name, ...args], context.input))
          this.#run(command, [], isBroken, { ...context, input: '' })
        return UNKNOWN
      case 'find':
        for (const command of foundCommands([name, ...args])) this.#run(command, [], isBroken, context)
        return UNKNOWN
      case 'alias':
        for (const arg of args) {
          const equals = arg.indexOf('=')
          if (equals > 0) this.#shell.aliases.set(arg.slice(0, equals), arg.slice(equals + 1))
        }
        return ''
      case 'cd':
      case 'pushd':
        this.#shell.cwd = this.#shell.resolve(args.find((arg) => !/^-[LPe@]*$/.test(arg)) ?? '~')
        return ''
      case 'set':
        if (args.includes('--')) this.#positional(['', ...args.slice(args.indexOf('--') + 1)])
        return ''
      case 'read':
        for (const [index, variable] of args.filter((arg) => /^[A-Za-z_]\w*$/.test(arg)).entries()) {
          this.#shell.set(variable, context.input.trim().split(/\s+/)[index] ?? UNKNOWN)
        }
        return ''
      default:
        return null
    }
  }

  #other(name: string, args: readonly string[], context: Context): string {
    const files = args.filter((arg) => !arg.startsWith('-')).map((arg) => this.#content(arg))
    const output = outputOf(name, args, context.input, files)
    if (name === 'tee') for (const path of args.filter((arg) => !arg.startsWith('-'))) this.#shell.write(path, output)
    if (/^(?:cp|mv|install|ln)$/.test(name)) {
      const [from, to] = args.filter((arg) => !arg.startsWith('-'))
      // A copy of a program does what the program does.
      const content =
        from === undefined ? null : (this.#shell.read(from) ?? (/\/s?bin\//.test(from) ? `${quote(from)} "$@"` : null))
      if (content !== null && to !== undefined) this.#shell.write(to, content)
    }
    if (!isFetcher(name)) return output
    const target = downloadTarget(name, args)
    if (target === null) return FETCHED
    this.#shell.write(target, FETCHED)
    return ''
  }

  #shellOf(words: readonly string[], isBroken: boolean, context: Context): string {
    const operand = shellOperand(words)
    switch (operand.kind) {
      case 'text':
        this.#positional(operand.args)
        return this.#within(operand.text, context, isBroken)
      case 'file':
        return this.#within(this.#content(operand.path), { ...context, input: '' }, false)
      case 'input':
        return this.#within(context.input, { ...context, input: '' }, isBroken)
      case 'none':
        return ''
      default:
        return operand satisfies never
    }
  }

  /** A text that is executed by the command in hand, one level deeper. */
  #within(text: string, context: Context, isBroken: boolean): string {
    if (isBroken && text !== '') this.isUncertain = true
    if (text === '' || text === UNKNOWN) return UNKNOWN
    return this.#script(text, { ...context, depth: context.depth + 1 })
  }

  /** Python and its like: only where the program comes from is looked at. */
  #interpreter(args: readonly string[], { input }: Context): void {
    const program = programOperand(args)
    const text =
      program.kind === 'text'
        ? program.text
        : program.kind === 'input'
          ? input
          : program.kind === 'file'
            ? this.#content(program.path)
            : ''
    if (text.includes(FETCHED)) this.dangers.add('fetch-to-exec')
  }

  /** What a file holds; a path that came from the network or a decoder says as much as its contents would. */
  #content(path: string | undefined): string {
    if (path === undefined) return UNKNOWN
    return this.#shell.read(path) ?? (known(path) !== path && path.length < 3 ? path : UNKNOWN)
  }

  #redirects(redirects: readonly Redirection[], context: Context): { input: string | null; writes: string[] } {
    const at = this.#expansion(context)
    const writes: string[] = []
    let input: string | null = null
    for (const redirect of redirects) {
      if (redirect.type === 'HereDoc') {
        const { body, operator } = redirect
        const text = body.parts === undefined ? body.text : expandParts(body.parts, at)
        input = operator === '<<-' ? text.replace(/^\t+/gm, '') : text
      } else if (redirect.type === 'HereString') input = `${expandText(redirect.target, at)}\n`
      else {
        const target = expandText(redirect.target, at)
        if (redirect.operator === '<') input = this.#content(target)
        else if (target !== '' && !/^(?:\d+|-)$/.test(target)) writes.push(this.#shell.resolve(target))
      }
    }
    return { input, writes }
  }

  #assign(item: Extract<Command['prefix'][number], { type: 'Assignment' }>, at: Expansion): string {
    if (item.index !== undefined) expandText(item.index, at)
    const value =
      item.value.type === 'Word'
        ? expandText(item.value, at)
        : item.value.elements.flatMap((element) => expand(element, at)).join(' ')
    this.#shell.set(item.name, item.append === true ? this.#shell.variable(item.name) + value : value)
    return value
  }

  #expansion(context: Context): Expansion {
    return {
      shell: this.#shell,
      substitute: (script) => this.#parsed(script, { ...context, errors: positions(script) }),
      processFile: (script, operator) => {
        const output = this.#parsed(script, { ...context, errors: positions(script) })
        const path = `/dev/fd/p${this.#processFiles++}`
        if (operator === '<') this.#shell.write(path, output)
        return path
      },
      visit: (node) => {
        this.#node(node, context)
      },
    }
  }

  #record(command: Pick<ShellCommand, 'name' | 'args' | 'writes' | 'isBroken'>, { isElevated }: Context): void {
    if (this.commands.length >= MAX_COMMANDS) throw new TooMuch('the text runs too many commands')
    this.commands.push({ ...command, cwd: this.#shell.cwd, isElevated })
  }
}
