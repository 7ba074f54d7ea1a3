// Prints the events of a file as JSON, one per line: node events.cjs FILE SCHEMA. The packages tfrecord and protobufjs,
// which NODE_PATH must find, read records and messages. Exit code 3: they are not installed.
const missing = 3
let tfrecord, protobuf
try {
  tfrecord = require('tfrecord')
  protobuf = require('protobufjs')
} catch (error) {
  console.error('no packages tfrecord and protobufjs: ' + error.message.split('\n')[0])
  process.exit(missing)
}

async function main(file, schema) {
  const Event = (await protobuf.load(schema)).lookupType('tensorflow.Event')
  const reader = await tfrecord.RecordReader.create(file)
  for (let n = 0, record; (record = await reader.readRecord()) !== null; n++) {
    const event = Event.toObject(Event.decode(record), { longs: Number, defaults: true, oneofs: true })
    if (n === 0 && event.fileVersion !== 'brain.Event:2') throw new Error('version ' + event.fileVersion)
    if (event.what === 'summary') {
      const values = event.summary.value.map(v => [v.tag, v.simpleValue])
      console.log(JSON.stringify({ wall: event.wallTime, step: event.step, values }))
    }
  }
}

main(process.argv[2], process.argv[3]).catch(error => {
  console.error(error.message)
  process.exit(1)
})
