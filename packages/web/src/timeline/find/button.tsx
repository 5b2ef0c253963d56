/** The button of the header that opens the search, and its key, which is that of the browser's own search: a second press opens that one. */
import { useEffect, useRef } from 'react'
import { Button } from '../../ui/button.tsx'
import { Search } from '../../ui/icons.ts'
import { find as words } from '../../words/find.en.ts'
import { useSearchText } from './open.ts'

export function FindButton() {
  const { text, change } = useSearchText()
  const open = useRef(() => {})
  useEffect(() => {
    open.current = () => (text === null ? change('') : field()?.select())
  })
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const isFind = event.key === 'f' && (event.ctrlKey || event.metaKey) && !event.altKey && !event.shiftKey
      if (!isFind || document.activeElement === field() || document.querySelector('dialog[open]') !== null) return
      event.preventDefault()
      open.current()
    }
    addEventListener('keydown', onKey)
    return () => removeEventListener('keydown', onKey)
  }, [])
  return (
    <Button
      look="quiet"
      size="small"
      label={words.open}
      aria-expanded={text !== null}
      onClick={() => change(text === null ? '' : null)}
    >
      <Search size={16} aria-hidden />
    </Button>
  )
}

const field = () => document.querySelector<HTMLInputElement>('.find-bar input')
