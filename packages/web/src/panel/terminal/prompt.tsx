/** The line where a person runs a command of their own. */
import { type KeyboardEvent, useState } from 'react'
import { Button } from '../../ui/button.tsx'
import { terminal as words } from '../../words/terminal.en.ts'

export function Prompt({ history, onRun }: { history: readonly string[]; onRun: (command: string) => void }) {
  const [text, setText] = useState('')
  /** How many commands back the field shows; 0: what is being written. */
  const [back, setBack] = useState(0)
  const recall = (steps: number) => {
    const next = Math.min(Math.max(steps, 0), history.length)
    setBack(next)
    setText(next === 0 ? '' : (history.at(-next) ?? ''))
  }
  const submit = () => {
    if (text.trim() === '') return
    onRun(text)
    setText('')
    setBack(0)
  }
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.nativeEvent.isComposing || !['ArrowUp', 'ArrowDown', 'Enter'].includes(event.key)) return
    // Otherwise the Enter key of the page opens a row of the timeline.
    event.preventDefault()
    if (event.key === 'Enter') submit()
    else recall(event.key === 'ArrowUp' ? back + 1 : back - 1)
  }
  return (
    <form
      className="terminal-prompt"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      <span aria-hidden>$</span>
      <input
        aria-label={words.prompt}
        placeholder={words.placeholder}
        autoComplete="off"
        autoCapitalize="off"
        spellCheck={false}
        value={text}
        onChange={(event) => {
          setText(event.target.value)
          setBack(0)
        }}
        onKeyDown={onKeyDown}
      />
      <Button type="submit" size="small" disabled={text.trim() === ''}>
        {words.run}
      </Button>
    </form>
  )
}
