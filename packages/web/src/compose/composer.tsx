/** The field for messages, with the controls of the run. */
import { ArrowUp, ImagePlus, Pause, Play, Square, X } from '../ui/icons.ts'
import { type KeyboardEvent, type RefObject, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { messageOf, server } from '../api/server.ts'
import { statusOf, waitingBatch } from '../log/state.ts'
import { useConversationState, useView } from '../timeline/context.ts'
import { announce } from '../ui/announce.tsx'
import { Button } from '../ui/button.tsx'
import { useKeys } from '../ui/keys.ts'
import { conversation as words } from '../words/conversation.en.ts'
import { dock as dockWords } from '../words/dock.en.ts'
import { imagesOf } from './attachments.ts'
import { keepDraft, readDraft } from './drafts.ts'
import { sendMessage } from './send.ts'
import './composer.css'

/** A second Escape within this time interrupts the run. */
const TWICE_MS = 600

export function Composer({ field }: { field: RefObject<HTMLTextAreaElement | null> }) {
  const { conversation, canAct } = useView()
  const [text, setText] = useState(() => readDraft(conversation.id))
  const [images, setImages] = useState<readonly string[]>([])
  const [problem, setProblem] = useState('')
  const isOnline = useSyncExternalStore(conversation.subscribe, () => conversation.state().status === 'open')
  useEffect(() => keepDraft(conversation.id, text), [conversation.id, text])
  useExternalText(field, setText)

  const send = async () => {
    const sent = { text: text.trim(), images }
    if (sent.text === '' && images.length === 0) return
    setText('')
    setImages([])
    setProblem('')
    try {
      await sendMessage(conversation, sent)
    } catch (error) {
      // The text comes back, unless another one was typed meanwhile.
      setText((typed) => (typed === '' ? sent.text : `${sent.text}\n\n${typed}`))
      setImages(sent.images)
      setProblem(messageOf(error))
    }
  }
  const attach = async (files: Iterable<File>) => {
    const { addresses, refused } = await imagesOf(files)
    setImages((known) => [...known, ...addresses])
    setProblem(refused === 0 ? '' : dockWords.notAnImage)
  }
  if (!canAct) return <p className="composer-closed">{dockWords.readOnly}</p>
  return (
    <form
      className="composer"
      aria-label={dockWords.composer}
      onSubmit={(event) => {
        event.preventDefault()
        void send()
      }}
    >
      {problem === '' ? null : (
        <p className="problem" role="alert">
          {problem}
        </p>
      )}
      <div className="composer-box">
        {images.length === 0 ? null : (
          <Attached images={images} remove={(index) => setImages(images.filter((_, at) => at !== index))} />
        )}
        <textarea
          ref={field}
          value={text}
          rows={1}
          aria-label={dockWords.message}
          placeholder={dockWords.placeholder}
          onChange={(event) => setText(event.target.value)}
          onKeyDown={(event) => onFieldKey(event, () => void send())}
          onPaste={(event) => void attach(event.clipboardData.files)}
        />
        <div className="composer-bar">
          <AttachButton onFiles={attach} />
          <RunControls />
          <Button type="submit" look="primary" size="small" disabled={text.trim() === '' && images.length === 0}>
            <ArrowUp size={14} aria-hidden />
            {isOnline ? dockWords.send : dockWords.sendWhenBack}
          </Button>
        </div>
      </div>
    </form>
  )
}

/** Enter sends, Shift and Enter makes a new line. Enter that ends an input method's composition does neither. */
function onFieldKey(event: KeyboardEvent<HTMLTextAreaElement>, send: () => void): void {
  const isComposing = event.nativeEvent.isComposing || event.keyCode === 229
  if (event.key === 'Escape' && !isComposing) return event.currentTarget.blur()
  if (event.key !== 'Enter' || event.shiftKey || event.altKey || isComposing) return
  // On touch screens Enter makes a new line, because there is no other key for it.
  if (matchMedia('(pointer: coarse)').matches && !event.metaKey && !event.ctrlKey) return
  event.preventDefault()
  send()
}

/** Text that another part of the page puts into the field. */
function useExternalText(
  field: RefObject<HTMLTextAreaElement | null>,
  setText: (update: (text: string) => string) => void,
) {
  useEffect(() => {
    const element = field.current
    const add = (event: Event) => {
      const added = (event as CustomEvent<string>).detail
      setText((text) => (text === '' ? added : `${text}\n${added}`))
    }
    element?.addEventListener('add-text', add)
    return () => element?.removeEventListener('add-text', add)
  }, [field, setText])
}

function Attached({ images, remove }: { images: readonly string[]; remove: (index: number) => void }) {
  return (
    <ul className="attached">
      {images.map((address, index) => (
        <li key={index}>
          <img src={address} alt={dockWords.attachedImage(index + 1)} />
          <button
            type="button"
            className="icon-button"
            aria-label={dockWords.removeImage(index + 1)}
            onClick={() => remove(index)}
          >
            <X size={14} aria-hidden />
          </button>
        </li>
      ))}
    </ul>
  )
}

function AttachButton({ onFiles }: { onFiles: (files: Iterable<File>) => Promise<void> }) {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        accept="image/png,image/jpeg,image/gif,image/webp"
        multiple
        hidden
        aria-label={dockWords.attach}
        onChange={(event) => {
          void onFiles([...(event.target.files ?? [])])
          event.target.value = ''
        }}
      />
      <Button look="quiet" size="small" label={dockWords.attach} onClick={() => input.current?.click()}>
        <ImagePlus size={16} aria-hidden />
      </Button>
    </>
  )
}

/** Pause, run and interrupt. Run is never offered while a batch waits, because it would approve the batch. */
function RunControls() {
  const { conversation } = useView()
  const status = useConversationState(statusOf)
  const isWaiting = useConversationState(waitingBatch) !== null
  const [problem, setProblem] = useState('')
  const escaped = useRef(-TWICE_MS)
  const isRunning = status === 'running'
  const call = (action: string, said: string) => {
    setProblem('')
    server
      .call('POST', conversation.path(`/${action}`), action === 'run' ? { body: {} } : {})
      .then(() => announce(said))
      .catch((error: unknown) => setProblem(messageOf(error)))
  }
  const interrupt = () => call('interrupt', dockWords.interruptedNow)
  const canRun = !isWaiting && ['paused', 'error', 'stuck'].includes(status)
  const toggle = () => (isRunning ? call('pause', dockWords.pausing) : canRun ? call('run', words.running) : undefined)
  useKeys([
    {
      keys: 'Escape',
      label: words.keys.interrupt,
      run: () => {
        const now = performance.now()
        if (isRunning && now - escaped.current < TWICE_MS) interrupt()
        escaped.current = now
      },
    },
    { keys: 'p', label: words.keys.pause, run: toggle },
  ])
  return (
    <span className="run-controls">
      <span role="status" className="note problem">
        {problem}
      </span>
      {isRunning ? (
        <>
          <Button look="quiet" size="small" onClick={toggle}>
            <Pause size={14} aria-hidden />
            {dockWords.pause}
          </Button>
          <Button look="quiet" size="small" onClick={interrupt}>
            <Square size={13} aria-hidden />
            {dockWords.interrupt}
          </Button>
        </>
      ) : null}
      {canRun ? (
        <Button size="small" onClick={toggle}>
          <Play size={14} aria-hidden />
          {dockWords.run}
        </Button>
      ) : null}
    </span>
  )
}
